"""Explains in a few lines why a case changed: its diagnosis, and the stacks that fault more than before. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Profile
from runner.contract.profile_difference import by_stack
from service.rules.diagnose.diagnosis import diagnose
from service.text.markdown import code

_STACKS = 3
_FRAMES = 4
"""How many of the innermost functions of a stack are shown."""
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Insight:
    """The explanation that the profiles of a case give."""

    case: str
    diagnosis: str
    """The title of the weightiest finding; empty where no rule applies."""
    grown: tuple[tuple[int, str], ...]
    """The increase in faults and the stack they come from, the largest first."""


def make_insight(case: str, before: Profile | None, after: Profile) -> Insight:
    """Explain a case by the profile of its head, compared with that of its base where there is one."""
    findings = diagnose(DiagnosisRequest(profile=after, before=before)).findings
    stacks = by_stack(before, after) if before else []
    grown = [
        (stack.change.grown, " › ".join(frame.function for frame in stack.frames[-_FRAMES:]))
        for stack in stacks[:_STACKS]
        if stack.change.grown > 0
    ]
    return Insight(case, findings[0].title if findings else "", tuple(grown))


def as_markdown(insights: Iterable[Insight]) -> str:
    """Return the insights as Markdown."""
    parts = []
    for insight in insights:
        case = code(insight.case)
        if insight.diagnosis:
            parts.append(f"What the profile of {case} shows: {code(insight.diagnosis, _LONGEST)}.\n\n")
        if insight.grown:
            parts.append(f"Where the additional faults of {case} come from:\n\n| faults | stack |\n| ---: | :--- |\n")
            parts += [f"| +{faults:,} | {code(stack, _LONGEST)} |\n" for faults, stack in insight.grown]
            parts.append("\n")
    return "".join(parts)
