"""Decides which revisions a host still has to measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from runner.contract import Case, Plan, PlannedRun, PlanRequest, Reason
from service.rules.plan.anchor_commit import choose_anchor
from service.rules.plan.cross_measured_runs import choose_cross_measured_runs, choose_dividing_revision
from service.rules.plan.reruns import choose_rerun
from service.rules.plan.settled_revisions import StoredRun, list_measured_revisions, list_settled_revisions


@dataclass(frozen=True, slots=True)
class Orders:
    """Measurements of a case that the service orders in addition to what the runner offers.

    Attributes
    ----------
    cross_measured_revisions
        Revisions to measure in the environment of the request for a cross-measurement.
    dividing_revisions
        Revisions whose runs in this environment would divide a change that commit and configuration made together, if
        there were more of them; see :func:`service.rules.plan.cross_measured_runs.list_dividing_runs`.
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
        measured_revisions = list_measured_revisions(runs, request.environment.hash)
        # Revisions that were not measured, but need no further run, have failed.
        n_failed += len(settled_revisions.intersection(revisions) - measured_revisions)
        requested_revisions = [(revision, Reason.MISSING) for revision in missing_revisions]
        # Plan the anchor, which links the missing revisions to another environment, cross-measurements, and a rerun.
        if missing_revisions:
            anchor = choose_anchor(missing_revisions[0], runs, settled_revisions, request.environment.hash, positions)
            if anchor is not None:
                requested_revisions.append((anchor, Reason.ANCHOR))
        order = orders.get(index, _NO_ORDERS)
        attempts = Counter(run.revision for run in runs if run.environment == request.environment.hash)
        requested_revisions += choose_cross_measured_runs(
            runs,
            settled_revisions,
            requested_revisions,
            positions,
            cross_measured_revisions=order.cross_measured_revisions,
            measured_elsewhere=order.measured_elsewhere,
        )
        requested_revisions += choose_dividing_revision(
            order.dividing_revisions, measured_revisions, attempts, positions
        )
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


def _remove_repeated_cases(cases: Iterable[Case]) -> list[tuple[int, Case]]:
    """Return each case once, with the index of its first occurrence.

    Cases are compared as text, because their parameters are a dict, which is not hashable.
    """
    first_of_text = {case.model_dump_json(): (index, case) for index, case in reversed(list(enumerate(cases)))}
    return sorted(first_of_text.values(), key=lambda entry: entry[0])


def _describe_plan(planned_runs: Iterable[PlannedRun]) -> str:
    """Return why a plan contains runs other than those of missing revisions; empty if it does not."""
    reasons = {run.reason for run in planned_runs}
    return " ".join(text for reason, text in _REASON_NOTES.items() if reason in reasons)


_REASON_NOTES = {
    Reason.ANCHOR: "The environment has changed since the last run. The last revision is measured again first, "
    "so that no commit is blamed for an effect of the configuration.",
    Reason.CROSS_MEASUREMENT: (
        "The commit and the configuration or the host changed together. Each change is measured "
        "without the other, to separate their effects."
    ),
    Reason.RERUN: (
        "The newest runs differ from the previous level, and it is not certain yet that the change will "
        "last. A revision is measured again, at the level that has fewer runs, to distinguish a drift from an outlier."
    ),
}
