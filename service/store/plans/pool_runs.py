"""The runs of other machines of a pool that a plan treats like runs of the requesting machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import PlanRequest
from runner.contract.pool import POOL_SETTING
from service.rules.plan.settled_revisions import StoredRun
from service.rules.series.pools import find_stand_ins
from service.store import shared_rows
from service.store.models import Case, Host, Series, Subject
from service.store.series import pool_environments
from service.store.series.trend_points import read_points_on_trend

EnvironmentsByCase = Mapping[int, frozenset[str]]
"""By the index of the case: the environments that are equivalent to that of a request, including itself."""


def find_alike_environments(session: Session, request: PlanRequest) -> EnvironmentsByCase:
    """Return, for each case, the environments that are proven to give the same exact counts as the request's.

    Only environments of machines of a pool can be. An environment is equivalent if it is in each series of the case.
    """
    own_environment = request.environment.hash
    environments_by_case = dict.fromkeys(range(len(request.cases)), frozenset({own_environment}))
    if POOL_SETTING not in request.environment.settings:
        return environments_by_case
    series_of_case = _map_exact_series(session, request)
    all_series = [series_id for series_ids in series_of_case.values() for series_id in series_ids]
    points_by_series = read_points_on_trend(session, all_series)
    environments = {point.environment for points_of_series in points_by_series.values() for point in points_of_series}
    settings = pool_environments.read_pool_settings(session, environments) | {
        own_environment: dict(request.environment.settings)
    }
    for index, case in enumerate(request.cases):
        alike_in_series: list[set[str]] = []
        for series_id in series_of_case[shared_rows.make_case_key(case)]:
            # Equivalent environments have the same stand-in; an environment without one stands for itself.
            stand_in_of = find_stand_ins(points_by_series[series_id], settings)
            own_stand_in = stand_in_of.get(own_environment, own_environment)
            alike_in_series.append({other for other in settings if stand_in_of.get(other, other) == own_stand_in})
        if alike_in_series:
            environments_by_case[index] |= set.intersection(*alike_in_series)
    return environments_by_case


def adopt_pool_runs(
    stored_runs: Mapping[int, Iterable[StoredRun]], alike_environments: EnvironmentsByCase, own_environment: str
) -> dict[int, list[StoredRun]]:
    """Return the runs of each case, with equivalent environments replaced by that of the request."""
    return {
        index: [
            replace(run, environment=own_environment) if run.environment in alike_environments[index] else run
            for run in runs
        ]
        for index, runs in stored_runs.items()
    }


def _map_exact_series(session: Session, request: PlanRequest) -> dict[str, list[int]]:
    """Return the judged series of exact counts of the host, by the key of the case."""
    rows = session.execute(
        select(Case.key, Series.id, Series.metric)
        .select_from(Series)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Subject.name == request.subject, Host.name == request.host.name, Series.judged)
        .where(Case.key.in_([shared_rows.make_case_key(case) for case in request.cases]))
    )
    series_by_case: dict[str, list[int]] = defaultdict(list)
    for key, series_id, name in rows:
        if pool_environments.is_exact(name):
            series_by_case[key].append(series_id)
    return series_by_case
