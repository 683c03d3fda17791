"""``faultwatch bisect --knobs``: what differs between two environments, as knobs that can be searched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.campaigns.knob_search import PARAMETER, PER_RUN, VARIABLE, can_be_set
from runner.contract.base import Parameter, parameter_text
from runner.contract.knob_search import FoundKnobs, KnobChange, KnobSearch, MeasureKnobs
from runner.contract.level import median
from runner.contract.metrics import metric
from runner.contract.report import Case, Environment, Outcome, Report
from runner.contract.search import NothingToFind
from runner.errors import FaultwatchError
from runner.state.memory_group import MemoryGroup
from runner.workload import Workload
from runner.workload.allocators import ALLOCATORS
from runner.workload.bound_case import size

FOLLOWS = frozenset({"allocator"})
"""What only tells what a variable does, or which library that finds."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two environments."""

    knobs: tuple[KnobChange, ...]
    """What a run can set."""
    common: Mapping[str, str]
    """The variables that both have."""
    hosts: tuple[KnobChange, ...]
    """What only the host's administrator can set, or the runner fixes: it stays as it is here."""

    @property
    def left_out(self) -> str:
        """The knobs that are not searched, in one line; empty where there are none."""
        told = ", ".join(f"{one.name} ({_said(one.before)} → {_said(one.after)})" for one in self.hosts)
        return f"not searched, since only the host's administrator can set them: {told}" if told else ""


def difference(
    before: Mapping[str, str], after: Mapping[str, str], workload: Workload, without: Iterable[str] = ()
) -> Difference:
    """Return what differs between two environments, each with the parameters of its case as ``parameter.NAME``."""
    own = {f"{VARIABLE}{name}" for name in workload.run.environment}
    if workload.run.allocator != "glibc":
        own |= {f"{VARIABLE}{name}" for variables in ALLOCATORS.values() for name in variables}
    skipped = {*without, *own, *FOLLOWS}
    names = sorted({*before, *after} - skipped)
    moved = [KnobChange(name=name, before=before.get(name), after=after.get(name)) for name in names]
    moved = [one for one in moved if one.before != one.after]
    return Difference(
        knobs=tuple(one for one in moved if can_be_set(one.name)),
        common={
            name: before[name] for name in names if name.startswith(VARIABLE) and before.get(name) == after.get(name)
        },
        hosts=tuple(one for one in moved if not can_be_set(one.name)),
    )


def asked_for(text: str) -> KnobChange:
    """Read ``NAME=BEFORE..AFTER``; an empty side means that the knob is not there.

    Raises
    ------
    FaultwatchError
        Where it is not of that form, or no run can set the knob.
    """
    name, equals, values = text.partition("=")
    before, dots, after = values.partition("..")
    if not equals or not dots or before == after:
        raise FaultwatchError(f"--change {text!r} is not of the form NAME=BEFORE..AFTER")
    if not can_be_set(name):
        raise FaultwatchError(
            f"--change {text!r}: {name} cannot be set for a single run",
            f"those that can: variable.NAME, parameter.NAME, build.NAME, {', '.join(sorted(PER_RUN))}",
        )
    if name == MemoryGroup.knob:
        before, after = (str(size(one)) if one not in {"", "none"} else "none" for one in (before, after))
    return KnobChange(name=name, before=before or None, after=after or None)


def ends(text: str) -> tuple[str, str]:
    """Split ``BEFORE..AFTER``, each the path of a file or the id of a run; a path may have dots of its own.

    Raises
    ------
    FaultwatchError
        Where there are no two sides.
    """
    places = [place for place in range(1, len(text) - 2) if text[place : place + 2] == ".."]
    splits = [(text[:place], text[place + 2 :]) for place in places]
    there = [split for split in splits if all(Path(side).exists() for side in split)]
    if not splits:
        raise FaultwatchError(f"--knobs {text!r} is not of the form BEFORE..AFTER")
    return (there or splits)[0]


def parameters(source: Mapping[str, Parameter]) -> dict[str, str]:
    """Return a case's parameters as knobs."""
    return {f"{PARAMETER}{name}": parameter_text(value) for name, value in source.items()}


def knobs_of(environment: Environment, case: Case | None) -> dict[str, str]:
    """Return an environment and the parameters of the case that ran in it."""
    return environment.knobs | parameters(case.parameters if case else {})


def line(state: KnobSearch, report: Report, name: str) -> str:
    """Say what a run came to."""
    chosen = state.answer.changed if isinstance(state.answer, MeasureKnobs) else ()
    what = "could not be measured"
    if report.outcome is Outcome.MEASURED:
        what = f"{median(report.values(name))} {metric(name).unit}"
    return f"{what}  with {', '.join(chosen) or 'nothing'} changed"


def result(search: KnobSearch, found: Difference, name: str) -> list[str]:
    """Say what the search came to."""
    if isinstance(search.answer, NothingToFind):
        also = f" {found.left_out.capitalize()}." if found.left_out else ""
        return [f"{search.answer.sentence}{also}"]
    if not isinstance(search.answer, FoundKnobs):
        return []
    values = {one.name: one for one in found.knobs}
    lines = [f"{name}: {search.answer.before} → {search.answer.after}, carried by"]
    for knob in search.answer.knobs:
        without = search.answer.without.get(knob)
        alone = f"; without it {without}" if without is not None and len(search.answer.knobs) > 1 else ""
        lines.append(f"  {knob}: {_said(values[knob].before)} → {_said(values[knob].after)}{alone}")
    return lines


def document(search: KnobSearch, found: Difference) -> str:
    """Return all of it as JSON."""
    hosts = [one.model_dump(mode="json") for one in found.hosts]
    return json.dumps(search.model_dump(mode="json") | {"not_searched": hosts}, indent=2)


def _said(value: str | None) -> str:
    return "not set" if value is None else value
