"""Counts runs by subject, host, case and outcome as they arrive, so that lists do not have to count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy.orm import Session

from service.store.engine import bulk
from service.store.models import EnvironmentCount, RunCount
from service.store.runs.prepared_reports import NewRun

_ENVIRONMENT_KEY = ("environment_id", "host_id", "subject_id")
_COUNT_KEY = ("subject_id", "host_id", "case_id", "outcome", "quarantined")


def add_runs_to_counts(session: Session, runs: Sequence[NewRun]) -> None:
    """Add the runs to the counts by subject, host, case, outcome and quarantine, and to the counts by environment."""
    run_counts = Counter(
        (*run.group, run.prepared_report.report.outcome, bool(run.prepared_report.report.quarantine)) for run in runs
    )
    environment_counts = Counter((run.environment_id, run.group.host_id, run.group.subject_id) for run in runs)
    for model, key, counts in (
        (RunCount, _COUNT_KEY, run_counts),
        (EnvironmentCount, _ENVIRONMENT_KEY, environment_counts),
    ):
        rows = [dict(zip(key, values, strict=True)) | {"runs": count} for values, count in counts.items()]
        bulk.insert_or_add_rows(session, bulk.get_table(model), rows, "runs", key)
