"""Decides which revisions are left to measure. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from runner.contract import Case, Job, Outcome, Plan, PlanRequest, Reason


@dataclass(frozen=True, slots=True)
class StoredRun:
    """What a plan depends on of a run of the subject on the host."""

    revision: str
    environment: str
    outcome: Outcome


def plan(request: PlanRequest, positions: Mapping[str, int], stored: Mapping[int, Iterable[StoredRun]]) -> Plan:
    """Return the jobs that are left of a request.

    Parameters
    ----------
    request
        What the runner offers.
    positions
        Place of each revision in the subject's history; holds every revision of the request and of the runs.
    stored
        Runs of each case on the host, by the case's index in the request.

    Notes
    -----
    A failure that is stored is not tried again. All cases of one revision follow each other, so that it is built once.
    """
    revisions = sorted(dict.fromkeys(request.revisions), key=lambda revision: positions[revision])
    jobs: list[tuple[int, int, Job]] = []
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
        jobs += [
            (positions[revision], index, Job(revision=revision, case=case, reason=reason))
            for revision, reason in ordered
        ]
    jobs.sort(key=lambda entry: entry[:2])
    ordered_jobs = tuple(job for _, _, job in jobs)
    return Plan(jobs=ordered_jobs, stored=held, note=_note(ordered_jobs))


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


def _note(jobs: Iterable[Job]) -> str:
    anchors = {job.revision for job in jobs if job.reason is Reason.ANCHOR}
    if not anchors:
        return ""
    return (
        "The environment has changed since the last run. What was measured last is measured again first, "
        "so that the configuration is not blamed on a commit."
    )
