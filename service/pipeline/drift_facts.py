"""Reads the facts for the cause and the description of a drift: files, settings, commits, metrics, fault costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.rules.fault_price import PRICED_METRICS, FaultCosts
from service.rules.same_bytes import list_system_file_settings, list_upgraded_files
from service.rules.series.build_drifts import DriftContext
from service.rules.series.candidate_commits import are_all_known, list_commits_between
from service.rules.series.find_drifts import SeriesDrift
from service.rules.series.point_order import PathPoint
from service.schemas.history import Cause
from service.store import profiles
from service.store.models import Revision, Series
from service.store.revisions import revisions
from service.store.runs import runs
from service.store.series import points

_NEAREST_RUNS = 5
"""How many runs on each side of a drift show the other metrics, because one run says little about a noisy metric."""


class DriftFacts:
    """Reads the facts about drifts, each only once, because a change shows in many metrics of the same runs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._map_parents = cache(partial(revisions.map_parents, session))
        self._find_settings = cache(partial(points.find_settings, session))
        self._map_levels = cache(partial(points.map_levels, session))
        self._find_report = cache(partial(runs.find_report, session))

    def blame_upgrades(self, drift: SeriesDrift) -> SeriesDrift:
        """Add the configuration to the cause of a drift if a system file that both sides mapped was upgraded.

        Only drifts that are attributed to commits are changed. If the programs map different files, this is no upgrade,
        because a commit can link another library.
        """
        # Digests of the system files that a program mapped; empty if they were not recorded.
        system_digests = {drift.before.program_bytes.system, drift.after.program_bytes.system}
        if drift.cause is not Cause.COMMIT or "" in system_digests or len(system_digests) == 1:
            return drift
        files_before, files_after = self._read_system_files(drift.before), self._read_system_files(drift.after)
        return (
            replace(drift, cause=Cause.COMMIT_AND_CONFIG) if list_upgraded_files(files_before, files_after) else drift
        )

    def find_description_facts(self, series: Series, drift: SeriesDrift) -> DriftContext:
        """Return the commits, settings, levels and costs that the description of a drift needs."""
        parents = self._map_parents(series.subject_id)
        revisions_query = select(Revision).where(Revision.subject_id == series.subject_id)
        blamed_revision = self._session.scalars(revisions_query.where(Revision.commit == drift.after.revision)).one()
        candidates = list_commits_between(parents, *drift.outer_revisions)
        settings_before, settings_after = self._read_settings_of_sides(drift)
        return DriftContext(
            title=blamed_revision.title,
            author=blamed_revision.author,
            committed_at=blamed_revision.committed_at,
            candidates=revisions.list_candidates(self._session, series.subject_id, candidates),
            candidates_known=are_all_known(parents, *drift.outer_revisions),
            settings_before=settings_before,
            settings_after=settings_after,
            levels_before=self._map_levels(tuple(point.run_id for point in drift.old_points[-_NEAREST_RUNS:])),
            levels_after=self._map_levels(tuple(point.run_id for point in drift.new_points[:_NEAREST_RUNS])),
            costs=self._read_fault_costs(series, drift),
        )

    def _read_system_files(self, point: PathPoint) -> dict[str, str]:
        """Return the system files that the program of a run mapped, as settings."""
        report = self._find_report(point.run_id)
        return list_system_file_settings(report) if report else {}

    def _read_settings_of_sides(self, drift: SeriesDrift) -> Sequence[Mapping[str, str]]:
        """Return the settings before and after a drift.

        If the configuration is a cause although both sides have the same environment, the environment changes elsewhere
        in the range of the drift; the settings are then those at the ends of this range. If it does not change there
        either, system files differ: these files are added as settings. If the commit is also a cause, only upgraded
        files are added, because a commit can make the program map other files.
        """
        is_config_cause = drift.cause in {Cause.CONFIG, Cause.COMMIT_AND_CONFIG}
        environment_before, environment_after = drift.before.environment, drift.after.environment
        if is_config_cause and environment_before == environment_after:
            environment_before, environment_after = drift.outer_environments
        settings_before, settings_after = map(self._find_settings, (environment_before, environment_after))
        if not is_config_cause or environment_before != environment_after:
            return [settings_before, settings_after]
        files_before, files_after = self._read_system_files(drift.before), self._read_system_files(drift.after)
        if drift.cause is Cause.COMMIT_AND_CONFIG:
            upgraded_files = list_upgraded_files(files_before, files_after)
            files_before = {name: files_before[name] for name in upgraded_files}
            files_after = {name: files_after[name] for name in upgraded_files}
        return [{**settings_before, **files_before}, {**settings_after, **files_after}]

    def _read_fault_costs(self, series: Series, drift: SeriesDrift) -> FaultCosts:
        """Return the cost of a fault on both sides, according to profiles and the host's canary."""
        if series.metric not in PRICED_METRICS:
            return FaultCosts()

        def read_seconds_per_fault(point: PathPoint) -> float | None:
            profile_filter = profiles.ProfileFilter(
                series.subject.name, series.case.name, point.revision, series.host.name
            )
            return profiles.read_seconds_per_fault(self._session, profile_filter, point.environment)

        before, after = read_seconds_per_fault(drift.before), read_seconds_per_fault(drift.after)
        report = self._find_report(drift.after.run_id)
        canary = report.canary if report else None
        return FaultCosts(before, after, host=canary.seconds_per_fault if canary and canary.holds else None)
