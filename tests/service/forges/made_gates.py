"""Makes gate reports of a made-up pull request."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from runner.contract import Case, Environment, Failure, Outcome, Stage
from runner.contract.gate import GateCase, GateReport
from runner.contract.report import ProgramFiles, Reading, Sample, Status
from tests.service import reports

SESSION = uuid.UUID(int=1)
BASE = "ba5e" * 10
HEAD = "4ead" * 10
REPOSITORY = "octo-org/copies"


def case(
    base: Sequence[int],
    head: Sequence[int],
    *,
    mib: str | int = 4,
    speeds: tuple[Sequence[float], Sequence[float]] | None = None,
    settings: tuple[dict[str, str], dict[str, str]] = ({}, {}),
    **told: Any,
) -> GateCase:
    """Return a case with so many minor faults on each side, and with a throughput."""
    sides = []
    for place, (faults, commit) in enumerate(((base, BASE), (head, HEAD))):
        row = speeds[place] if speeds else [1000.0] * len(faults)
        samples = tuple(reports.sample(count, {"throughput": speed}) for count, speed in zip(faults, row, strict=True))
        sides.append(_side(commit, mib, samples=samples, environment=Environment(settings=settings[place])))
    return GateCase(base=sides[0], head=sides[1], **told)


def lacking_in_head(made: GateCase, name: str, reason: str) -> GateCase:
    """Return a case of which no sample of head has a value of a metric."""
    missing = {name: Reading(status=Status.NOT_COUNTED, reason=reason)}
    samples = tuple(Sample(readings=dict(one.readings) | missing) for one in made.head.samples)
    return made.model_copy(update={"head": made.head.model_copy(update={"samples": samples})})


def of_same_bytes(base: Sequence[int], head: Sequence[int]) -> GateCase:
    """Return a case whose sides ran the same bytes."""
    files = ProgramFiles(own_bytes="a" * 16, system_bytes="b" * 16)
    made = case(base, head, mib=32)
    sides = {name: getattr(made, name).model_copy(update={"files": files}) for name in ("base", "head")}
    return made.model_copy(update=sides)


def failed(
    side: str,
    *,
    stage: Stage = Stage.BUILD,
    message: str = "cc: error",
    log: str = "",
    mib: int = 4,
    head_runs: bool = False,
    head_stage: Stage | None = None,
) -> GateCase:
    """Return a case of which one side failed; if that is base, head may have been executed alone, or fail as well."""
    failure = Failure(stage=stage, message=message, log=log)
    other = Failure(stage=Stage.MEASURE, message="the other side of the comparison could not be measured")
    sides = {
        name: _side(commit, mib, failure=failure)
        if name == side
        else _side(commit, mib, failure=other, outcome=Outcome.SKIPPED)
        for name, commit in (("base", BASE), ("head", HEAD))
    }
    if head_runs:
        sides["head"] = _side(HEAD, mib, samples=(reports.sample(100),))
    if head_stage:
        sides["head"] = _side(HEAD, mib, failure=failure.model_copy(update={"stage": head_stage}))
    return GateCase(**sides)


def skipped_for_head(mib: int = 4) -> GateCase:
    """Return a case that only head cannot be measured in."""
    return _without_base(
        "the other side of the comparison could not be measured", mib, "the memory limit cannot be set"
    )


def added(mib: int = 64) -> GateCase:
    """Return a case that head adds, and that base cannot run."""
    made = _without_base("head adds this case, and base cannot run it", mib)
    return made.model_copy(update={"added": True})


def _without_base(why: str, mib: int, head: str = "") -> GateCase:
    def skipped(commit: str, message: str) -> Any:
        return _side(commit, mib, failure=Failure(stage=Stage.RUN, message=message), outcome=Outcome.SKIPPED)

    measured = skipped(HEAD, head) if head else _side(HEAD, mib, samples=(reports.sample(100),))
    return GateCase(base=skipped(BASE, why), head=measured)


def merged(made: GateCase) -> GateReport:
    """Return the report of a pull request of which the merge was measured."""
    revision = made.head.revision.model_copy(update={"commit": "3e49" * 10, "parents": (BASE, HEAD)})
    head = made.head.model_copy(update={"revision": revision})
    several = ("a" * 40, "b" * 40)
    return gate(made.model_copy(update={"head": head}), target=BASE, merge="3e49" * 10, merge_bases=several)


def gate(*cases: GateCase, number: int = 7, **changes: Any) -> GateReport:
    """Return the report of a pull request."""
    told = {"repository": REPOSITORY, "pull_request": number, "base": BASE, "head": HEAD, "cases": cases}
    return GateReport(**(told | changes))


def _queued() -> GateReport:
    """Return the report of a commit of a merge queue, which is worse."""
    worse, head = case([100] * 30, [101] * 30), "c0de" * 10
    moved = worse.head.model_copy(update={"revision": worse.head.revision.model_copy(update={"commit": head})})
    return gate(worse.model_copy(update={"head": moved}), head=head, merge_group=True)


def _side(commit: str, mib: str | int, **told: Any) -> Any:
    parameters = {"mib": mib}
    return reports.report(
        1,
        session=SESSION,
        revision=reports.revision(1, commit=commit),
        case=Case(workload="copy_service", definition="0123456789abcdef", parameters=parameters),
        **told,
    )


QUEUED = _queued()
