"""Decides which revisions are left to measure. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from runner.contract import Case, Outcome, Plan, PlannedRun, PlanRequest, Reason

RERUNS = 3
"""How often the newest revision is measured again, at most, where its drift is in doubt."""


@dataclass(frozen=True, slots=True)
class Orders:
    """What the service wants of a case, besides what the runner offers.

    Attributes
    ----------
    crosswise
        Revisions to measure in the environment of the request, for a cross-measurement.
    unsure
        Whether the newest run in that environment may be a stray one.
    elsewhere
        Revisions that were measured on other hosts.
    """

    crosswise: frozenset[str] = frozenset()
    unsure: bool = False
    elsewhere: frozenset[str] = frozenset()


_NONE = Orders()


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a plan depends on of a run of the subject on the host."""

    revision: str
    environment: str
    outcome: Outcome


def make_plan(
    request: PlanRequest,
    positions: Mapping[str, int],
    stored: Mapping[int, Iterable[StoredRun]],
    orders: Mapping[int, Orders] = MappingProxyType({}),
) -> Plan:
    """Return the runs that are left of a request.

    Parameters
    ----------
    request
        What the runner offers.
    positions
        Place of each revision in the subject's history; holds every revision of the request and of the runs.
    stored
        Runs of each case on the host, by the case's index in the request.
    orders
        What the service wants besides, by the case's index.

    Notes
    -----
    A failure that is stored is not tried again. All cases of one revision follow each other, so that it is built once.
    """
    revisions = sorted(dict.fromkeys(request.revisions), key=lambda revision: positions[revision])
    planned: list[tuple[int, int, PlannedRun]] = []
    held = 0
    for index, case in _distinct(request.cases):
        runs = list(stored.get(index, ()))
        here = {run.revision for run in runs if run.environment == request.environment.hash}
        missing = [revision for revision in revisions if revision not in here]
        held += len(revisions) - len(missing)
        ordered = [(revision, Reason.MISSING) for revision in missing]
        anchor = _anchor(missing[0], runs, here, request.environment.hash, positions) if missing else None
        if anchor is not None:
            ordered.append((anchor, Reason.ANCHOR))
        wanted = orders.get(index, _NONE)
        ordered += _crosswise(wanted, runs, here, ordered, positions)
        ordered += _rerun(wanted, runs, request.environment.hash, missing, positions)
        planned += [
            (positions[revision], index, PlannedRun(revision=revision, case=case, reason=reason))
            for revision, reason in ordered
        ]
    planned.sort(key=lambda entry: entry[:2])
    ordered_runs = tuple(one for _, _, one in planned)
    return Plan(runs=ordered_runs, stored=held, note=_note(ordered_runs))


def _distinct(cases: Iterable[Case]) -> list[tuple[int, Case]]:
    """Leave out cases that were named before; a case is hashable only as text, for its parameters are a dict."""
    first = {case.model_dump_json(): (index, case) for index, case in reversed(list(enumerate(cases)))}
    return sorted(first.values(), key=lambda entry: entry[0])


def _anchor(
    first_missing: str, runs: Iterable[StoredRun], here: set[str], environment: str, positions: Mapping[str, int]
) -> str | None:
    """Return the revision that ties the missing ones to what was measured in another environment, if one has to.

    That is the nearest measured one before, where it was measured in other environments only. One that was tried in
    this environment already and failed cannot be the tie. A missing revision is its own.
    """
    end = positions[first_missing]
    nearest = max(
        (
            (positions[run.revision], run.environment == environment, run.revision)
            for run in runs
            if run.outcome is Outcome.MEASURED
            and positions[run.revision] <= end
            and (run.environment == environment or run.revision not in here)
        ),
        default=None,
    )
    if nearest is None:
        return None
    _, measured_here, revision = nearest
    return None if measured_here or revision == first_missing else revision


_Ordered = Sequence[tuple[str, Reason]]


def _crosswise(
    wanted: Orders, runs: Iterable[StoredRun], here: set[str], ordered: _Ordered, positions: Mapping[str, int]
) -> _Ordered:
    """Return the revisions to measure for a cross-measurement; one that failed in this environment is not tried again.

    On a host that never measured the case, that is the newest revision before which another host did: the host was
    replaced.
    """
    revisions = set(wanted.crosswise)
    missing = [positions[revision] for revision, reason in ordered if reason is Reason.MISSING]
    if missing and not any(True for _ in runs):
        before = [revision for revision in wanted.elsewhere if positions[revision] < min(missing)]
        revisions |= set(sorted(before, key=lambda revision: positions[revision])[-1:])
    revisions -= here | {revision for revision, _ in ordered}
    return [(revision, Reason.CROSSWISE) for revision in sorted(revisions)]


def _rerun(
    wanted: Orders,
    runs: Iterable[StoredRun],
    environment: str,
    missing: Iterable[str],
    positions: Mapping[str, int],
) -> _Ordered:
    """Return the newest revision, where its drift is in doubt and no later revision is going to tell."""
    measured = [run.revision for run in runs if run.environment == environment and run.outcome is Outcome.MEASURED]
    if not wanted.unsure or not measured:
        return []
    newest = max(measured, key=lambda revision: positions[revision])
    later = any(positions[revision] > positions[newest] for revision in missing)
    again = not later and measured.count(newest) <= RERUNS
    return [(newest, Reason.RERUN)] if again else []


def _note(planned: Iterable[PlannedRun]) -> str:
    reasons = {one.reason for one in planned}
    return " ".join(text for reason, text in _NOTES.items() if reason in reasons)


_NOTES = {
    Reason.ANCHOR: "The environment has changed since the last run. What was measured last is measured again first, "
    "so that the configuration is not blamed on a commit.",
    Reason.CROSSWISE: "Commit and configuration, or the host, changed at once. One is measured without the other, "
    "so that each gets its part of the blame.",
    Reason.RERUN: "The newest run lies off the level before. It is measured again, to tell a drift from a stray run.",
}
