"""Builds the question of a bisect from the drift to explain."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from runner.contract import get_metric
from runner.contract.job import BisectQuestion
from service.rules.jobs.job_variables import read_variables
from service.schemas.history import Drift

_MIN_STEP_DIVISOR = 10
"""A bisect for a drift of an exact metric ignores changes smaller than the drift divided by this."""


def build_bisect_question(drift: Drift, settings: Mapping[str, str]) -> BisectQuestion | None:
    """Return the question of which commit caused a drift.

    None if the question is not valid for a job: a report may contain longer names of cases and metrics.

    Parameters
    ----------
    settings
        The settings of the environment after the drift: the bisect reproduces those of its environment variables that a
        job may set. The values of secrets are not stored.
    """
    try:
        return BisectQuestion(
            subject=drift.subject,
            case=drift.case,
            host=drift.host,
            metric=drift.metric,
            good=drift.good,
            bad=drift.bad,
            min_difference=abs(drift.change) / _MIN_STEP_DIVISOR if get_metric(drift.metric).exact else 0,
            variables=read_variables(settings),
            drift=drift.id,
        )
    except ValidationError:
        return None
