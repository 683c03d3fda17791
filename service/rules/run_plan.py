"""Decides which revisions a host still has to measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from runner.contract import Case, Outcome, Plan, PlannedRun, PlanRequest, Reason
from service.rules.reruns import MAX_RERUNS, choose_rerun
from service.schemas.history import Cause, Drift

MAX_ATTEMPTS = 3
"""How often a run that fails for a temporary reason is planned; after that, only if the request says so. A program that
hangs, for example, must not use up its deadline in every plan."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Measurements of a case that the service orders in addition to what the runner offers.

    Attributes
    ----------
    cross_measured_revisions
        Revisions to measure in the environment of the request for a cross-measurement.
    dividing_revisions
        Revisions whose runs in this environment would divide a change that commit and configuration made together, if
        there were more of them; see :func:`list_dividing_runs`.
    in_doubt
        Whether the level of the newest runs in this environment is in doubt.
    revision_before
        The newest revision on the level before a doubtful change if fewer runs show this level than the new one;
        otherwise None. The new level may have been measured in another environment.
    measured_elsewhere
        Revisions that other hosts have measured.
    """

    cross_measured_revisions: frozenset[str] = frozenset()
    dividing_revisions: frozenset[str] = frozenset()
    in_doubt: bool = False
    revision_before: str | None = None
    measured_elsewhere: frozenset[str] = frozenset()


_NO_ORDERS = Orders()


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run of the subject on the host, with the fields on which a plan depends."""

    revision: str
    environment: str
    outcome: Outcome
    temporary: bool = False
    """Whether it failed for a reason that may have passed."""
    reused: bool = False
    """Whether its counts are reused from a run with the same bytes."""


def make_plan(
    request: PlanRequest,
    positions: Mapping[str, int],
    runs_of_case: Mapping[int, Iterable[StoredRun]],
    orders: Mapping[int, Orders] = MappingProxyType({}),
) -> Plan:
    """Return the runs of a request that still have to be measured.

    Parameters
    ----------
    request
        The revisions and cases that the runner offers to measure.
    positions
        Position in the subject's history of every revision of the request and of the runs.
    runs_of_case
        Runs of each case on the host, by the index of the case in the request.
    orders
        Additional orders of the service, by the index of the case.

    Notes
    -----
    A failed run is not tried again, unless its reason was temporary or the request says so. All cases of a revision
    follow each other, so that it is built only once.
    """
    revisions = sorted(dict.fromkeys(request.revisions), key=lambda revision: positions[revision])
    planned_runs: list[tuple[int, int, PlannedRun]] = []
    n_stored = n_failed = 0
    for index, case in _remove_repeated_cases(request.cases):
        # Plan the missing revisions.
        runs = [run for run in runs_of_case.get(index, ()) if not (request.measure_all and run.reused)]
        settled_revisions = list_settled_revisions(runs, request.environment.hash, retry_failures=request.retry_failed)
        missing_revisions = [revision for revision in revisions if revision not in settled_revisions]
        n_stored += len(revisions) - len(missing_revisions)
        measured_revisions = _list_measured_revisions(runs, request.environment.hash)
        # Revisions that were not measured, but need no further run, have failed.
        n_failed += len(settled_revisions.intersection(revisions) - measured_revisions)
        requested_revisions = [(revision, Reason.MISSING) for revision in missing_revisions]
        # Plan the anchor, which links the missing revisions to another environment, cross-measurements, and a rerun.
        if missing_revisions:
            anchor = _choose_anchor(missing_revisions[0], runs, settled_revisions, request.environment.hash, positions)
            if anchor is not None:
                requested_revisions.append((anchor, Reason.ANCHOR))
        order = orders.get(index, _NO_ORDERS)
        attempts = Counter(run.revision for run in runs if run.environment == request.environment.hash)
        requested_revisions += _choose_cross_measured(order, runs, settled_revisions, requested_revisions, positions)
        requested_revisions += _choose_dividing_revision(order, measured_revisions, attempts, positions)
        requested_revisions += choose_rerun(
            measured_revisions,
            attempts,
            requested_revisions,
            positions,
            in_doubt=order.in_doubt,
            revision_before=order.revision_before,
        )
        planned_runs += [
            (positions[revision], index, PlannedRun(revision=revision, case=case, reason=reason))
            for revision, reason in requested_revisions
        ]
    planned_runs.sort(key=lambda entry: entry[:2])
    ordered_runs = tuple(run for _, _, run in planned_runs)
    return Plan(runs=ordered_runs, stored=n_stored, stored_failures=n_failed, note=_describe_plan(ordered_runs))


def list_settled_revisions(runs: Collection[StoredRun], environment: str, *, retry_failures: bool = False) -> set[str]:
    """Return the revisions that need no further run in an environment: measured, or failed permanently.

    Parameters
    ----------
    retry_failures
        Whether every failed run is tried again.
    """
    measured_revisions = _list_measured_revisions(runs, environment)
    if retry_failures:
        return measured_revisions
    runs_here = [run for run in runs if run.environment == environment]
    attempts = Counter(run.revision for run in runs_here if run.temporary)
    given_up = {revision for revision, number in attempts.items() if number >= MAX_ATTEMPTS}
    return measured_revisions | given_up | {run.revision for run in runs_here if not run.temporary}


def _list_measured_revisions(runs: Iterable[StoredRun], environment: str) -> set[str]:
    """Return the revisions with a measured run in an environment."""
    return {run.revision for run in runs if run.environment == environment and run.outcome is Outcome.MEASURED}


def _remove_repeated_cases(cases: Iterable[Case]) -> list[tuple[int, Case]]:
    """Return each case once, with the index of its first occurrence.

    Cases are compared as text, because their parameters are a dict, which is not hashable.
    """
    first_of_text = {case.model_dump_json(): (index, case) for index, case in reversed(list(enumerate(cases)))}
    return sorted(first_of_text.values(), key=lambda entry: entry[0])


def _choose_anchor(
    first_missing: str,
    runs: Iterable[StoredRun],
    settled_revisions: set[str],
    environment: str,
    positions: Mapping[str, int],
) -> str | None:
    """Return the anchor: a revision that links the missing ones to another environment; None if none is needed.

    It is the nearest measured revision before them, if it was measured only in other environments. A revision that
    failed in this environment cannot be the anchor. A missing revision that was measured elsewhere is its own anchor.
    """
    end = positions[first_missing]
    # If a revision was measured in this environment and in others, its run in this one sorts last.
    nearest_run = max(
        (
            (positions[run.revision], run.environment == environment, run.revision)
            for run in runs
            if run.outcome is Outcome.MEASURED
            and positions[run.revision] <= end
            and (run.environment == environment or run.revision not in settled_revisions)
        ),
        default=None,
    )
    if nearest_run is None:
        return None
    _, measured_here, revision = nearest_run
    return None if measured_here or revision == first_missing else revision


_Ordered = Sequence[tuple[str, Reason]]


def _choose_cross_measured(
    order: Orders,
    runs: Sequence[StoredRun],
    settled_revisions: set[str],
    requested_runs: _Ordered,
    positions: Mapping[str, int],
) -> _Ordered:
    """Return the revisions to measure for a cross-measurement, without those that failed in this environment.

    If the host has never measured the case, they include the newest earlier revision that another host has measured,
    because the host probably replaces the other one.
    """
    revisions = set(order.cross_measured_revisions)
    missing_positions = [positions[revision] for revision, reason in requested_runs if reason is Reason.MISSING]
    if missing_positions and not runs:
        earlier_revisions = [
            revision for revision in order.measured_elsewhere if positions[revision] < min(missing_positions)
        ]
        revisions |= set(sorted(earlier_revisions, key=lambda revision: positions[revision])[-1:])
    revisions -= settled_revisions | {revision for revision, _ in requested_runs}
    return [(revision, Reason.CROSS_MEASUREMENT) for revision in sorted(revisions)]


def _choose_dividing_revision(
    order: Orders, measured_revisions: Collection[str], attempts: Mapping[str, int], positions: Mapping[str, int]
) -> _Ordered:
    """Return the revision to measure again so as to divide a change made by commit and configuration together.

    It is the one with the fewest runs; none if each was measured again often enough.
    """
    revisions = [
        revision for revision in order.dividing_revisions & set(measured_revisions) if attempts[revision] <= MAX_RERUNS
    ]
    revisions.sort(key=lambda revision: (attempts[revision], positions[revision]))
    return [(revision, Reason.CROSS_MEASUREMENT) for revision in revisions[:1]]


def list_dividing_runs(drift: Drift) -> list[tuple[str, str]]:
    """Return the runs that may divide a drift that commit and configuration made together: revisions and environments.

    If the two runs next to such a drift share the revision or the environment, one of them lies between the two changes
    and shows the effect of one without the other. But a level of its own takes more than one run.
    """
    if drift.cause is not Cause.BOTH:
        return []
    before = drift.previous_revision, drift.environment_before
    after = drift.revision, drift.environment_after
    if drift.environment_before == drift.environment_after:
        return [before, after]
    if drift.previous_revision != drift.revision:
        return []
    # The run between the changes has the old revision in the new environment, or the new one in the old environment.
    return [after if drift.revision == drift.good else before]


def _describe_plan(planned: Iterable[PlannedRun]) -> str:
    """Return why a plan contains runs other than those of missing revisions; empty if it does not."""
    reasons = {run.reason for run in planned}
    return " ".join(text for reason, text in _REASON_NOTES.items() if reason in reasons)


_REASON_NOTES = {
    Reason.ANCHOR: "The environment has changed since the last run. The last revision is measured again first, "
    "so that no commit is blamed for an effect of the configuration.",
    Reason.CROSS_MEASUREMENT: (
        "A commit changed together with the configuration or the host. Each change is measured "
        "without the other, to separate their effects."
    ),
    Reason.RERUN: (
        "The newest runs differ from the previous level, and it is not certain yet that they will stay "
        "there. A revision at whichever level has fewer runs is measured again, to distinguish a drift from an outlier."
    ),
}
