"""Why a case changed, in a few lines: what its profile shows, and the stacks that fault more than before. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Profile
from runner.contract.profile_difference import by_stack
from service.rules.diagnose import diagnose
from service.text.markdown import code

_STACKS = 3
_FRAMES = 4
"""The innermost functions of a stack, which say most."""
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Insight:
    """What the profiles of one case show."""

    case: str
    diagnosis: str
    """The weightiest, in words; empty where no rule fits."""
    grown: tuple[tuple[int, str], ...]
    """Faults more, and the stack they come from, the most first."""


def make_insight(case: str, before: Profile | None, after: Profile) -> Insight:
    """Return what the profile of a head shows, beside that of its base where there is one."""
    found = diagnose(DiagnosisRequest(profile=after, before=before)).findings
    stacks = by_stack(before, after) if before else []
    grown = [
        (one.change.grown, " › ".join(frame.function for frame in one.frames[-_FRAMES:]))
        for one in stacks[:_STACKS]
        if one.change.grown > 0
    ]
    return Insight(case, found[0].title if found else "", tuple(grown))


def as_markdown(insights: Iterable[Insight]) -> str:
    """Return them as Markdown."""
    parts = []
    for one in insights:
        if one.diagnosis:
            parts.append(f"What the profile of {code(one.case)} shows: {code(one.diagnosis, _LONGEST)}.\n\n")
        if one.grown:
            parts.append(f"Where more faults come from in {code(one.case)}:\n\n| faults | stack |\n| ---: | :--- |\n")
            parts += [f"| +{faults:,} | {code(stack, _LONGEST)} |\n" for faults, stack in one.grown]
            parts.append("\n")
    return "".join(parts)
