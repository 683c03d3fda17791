"""Detects the drifts of series whose points have changed."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from runner.contract import Kind, metric
from service.pipeline import update_events
from service.rules.fault_price import PRICED, FaultCosts
from service.rules.same_bytes import system_file_knobs, upgraded_files
from service.rules.series import describe_drift
from service.rules.series.candidate_commits import are_all_known, commits_between
from service.rules.series.drift_budgets import within_budget
from service.rules.series.find_drifts import SeriesDrift, find_drifts
from service.rules.series.floor import calibrated_floor
from service.rules.series.sparkline import Sparkline
from service.rules.series.tracks import PathPoint
from service.rules.series.withdrawal import withdrawals
from service.schemas import history
from service.schemas.history import Cause
from service.store import (
    drifts,
    event_drifts,
    event_marks,
    events,
    points,
    profiles,
    revisions,
    runs,
    series,
    sparklines,
)
from service.store.engine.database import Database
from service.store.models import DriftRow, Revision, Series, Subject

log = logging.getLogger(__name__)

MOST_AT_ONCE = 64
"""Most series that are judged before a report is answered."""
_NEAREST_RUNS = 5
"""Runs on each side of a drift whose other metrics are shown with it: one run says little about a noisy metric."""


def refresh(database: Database) -> None:
    """Judge the series that have changed: a few of them now, many in the background."""
    if len(_stale(database)) <= MOST_AT_ONCE:
        refresh_all(database)
    else:
        database.defer(refresh_all)


def refresh_all(database: Database) -> None:
    """Judge every series that has changed since it was judged.

    Judging can take long, so it happens outside of the write lock. Where a series changes meanwhile, the result is
    dropped and the series is judged again.
    """
    failed: set[int] = set()
    while stale := _stale(database) - failed:
        # In random order: several processes may do this at once, and each skips what another one has done.
        for series_id in random.sample(sorted(stale), len(stale)):
            try:
                _refresh(database, series_id)
            except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
                # A series that cannot be judged must not stop runs from being stored. It stays stale.
                log.exception("series %d could not be judged", series_id)
                failed.add(series_id)
    if update_events.refresh(database):
        refresh(database)


def _stale(database: Database) -> set[int]:
    with database.reading() as session:
        return set(session.scalars(series.STALE))


def _refresh(database: Database, series_id: int) -> None:
    with database.reading() as session:
        row = series.find(session, series_id)
        assert row is not None
        if row.version == row.judged_version:
            return
        version, (detected, sparkline, withdrawn) = row.version, _judge(session, row)
    with database.writing() as session:
        unchanged = select(Series.id).where(Series.id == series_id, Series.version == version)
        if session.scalar(unchanged) is None:
            return
        if _differ(session, series_id, detected):
            session.execute(delete(DriftRow).where(DriftRow.series_id == series_id))
            session.add_all(detected)
            event_drifts.mark_withdrawn(session, withdrawn)
            changed = Subject.id == select(Series.subject_id).where(Series.id == series_id).scalar_subquery()
            session.execute(update(Subject).where(changed).values(drifts_version=Subject.drifts_version + 1))
        event_marks.wake_after_run(session, series_id)
        sparklines.store(session, series_id, version, sparkline)
        session.execute(update(Series).where(Series.id == series_id).values(judged_version=version))


def _differ(session: Session, series_id: int, detected: list[DriftRow]) -> bool:
    stored = session.execute(
        select(DriftRow.id, DriftRow.position, DriftRow.document).where(DriftRow.series_id == series_id)
    )
    return {tuple(row[:2]): row[2] for row in stored} != {
        (drift.id, drift.position): drift.document for drift in detected
    }


def _judge(session: Session, row: Series) -> tuple[list[DriftRow], Sparkline | None, dict[str, str]]:
    """Return the drifts of a series, its sparkline, and why former drifts no longer stand, by their ids."""
    head = series.head(row)
    trend = points.trend_of(session, row.id)
    # A count that other things on the host move too, such as context switches, repeats by chance only.
    kind = head.kind if metric(head.metric).exact or head.kind not in {Kind.COUNT, Kind.SIZE} else Kind.RATE
    found = find_drifts(trend, kind, events.baselines(session, row.id)) if row.judged else []
    shifts = [_with_upgrades(session, shift) for shift in found]
    within = within_budget(shifts, head.budget, head.better)
    named = zip(describe_drift.drift_ids(row.id, shifts), shifts, within, strict=True)
    parents = revisions.parents(session, row.subject_id) if shifts else {}
    on_trend = (point for sequence in (trend.path, *trend.beside) for point in sequence)
    judged_points = {point.run_id: point for point in on_trend if not point.is_taken_over}
    floor = calibrated_floor(judged_points.values())
    views = [
        describe_drift.describe_drift(
            name, head, shift, replace(_context(session, row, shift, parents), within_budget=small, floor=floor)
        )
        for name, shift, small in named
    ]
    rows = [_row(view, shift.after.position) for view, shift in zip(views, shifts, strict=True)]
    withdrawn = withdrawals(drifts.of_series(session, row.id), views, judged_points.values(), judged=row.judged)
    return rows, sparklines.draw(trend, views), withdrawn


def _row(view: history.Drift, position: int) -> DriftRow:
    return DriftRow(
        id=view.id,
        series_id=view.series_id,
        cause=view.cause,
        committed_at=view.committed_at,
        position=position,
        document=view.model_dump(mode="json"),
    )


def _with_upgrades(session: Session, shift: SeriesDrift) -> SeriesDrift:
    """Blame a change on the configuration too, if a file of the host that both sides mapped was upgraded between them.

    That the programs map different files is no upgrade: a commit can link another library.
    """
    systems = {shift.before.program_bytes.system, shift.after.program_bytes.system}
    if shift.cause is not Cause.COMMIT or "" in systems or len(systems) == 1:
        return shift
    before, after = (_system_files(session, point) for point in (shift.before, shift.after))
    return replace(shift, cause=Cause.BOTH) if upgraded_files(before, after) else shift


def _knobs(session: Session, shift: SeriesDrift) -> Sequence[Mapping[str, str]]:
    """Return the knobs of the sides before and after, and upgraded files of the host as knobs if only those differ."""
    sides = (shift.before, shift.after)
    held = [points.knobs(session, point.environment) for point in sides]
    if shift.cause not in {Cause.CONFIG, Cause.BOTH} or shift.before.environment != shift.after.environment:
        return held
    files = [_system_files(session, point) for point in sides]
    upgraded = upgraded_files(*files)
    shown = [{name: side[name] for name in upgraded} for side in files] if shift.cause is Cause.BOTH else files
    return [{**knobs, **side} for knobs, side in zip(held, shown, strict=True)]


def _system_files(session: Session, point: PathPoint) -> dict[str, str]:
    report = runs.report(session, point.run_id)
    return system_file_knobs(report) if report else {}


def _context(
    session: Session, row: Series, shift: SeriesDrift, parents: Mapping[str, Sequence[str]]
) -> describe_drift.DriftContext:
    of_subject = select(Revision).where(Revision.subject_id == row.subject_id)
    knobs_before, knobs_after = _knobs(session, shift)
    blamed = session.scalars(of_subject.where(Revision.commit == shift.after.revision)).one()
    return describe_drift.DriftContext(
        title=blamed.title,
        author=blamed.author,
        committed_at=blamed.committed_at,
        candidates=revisions.candidates(session, row.subject_id, commits_between(parents, *shift.suspects)),
        candidates_known=are_all_known(parents, *shift.suspects),
        knobs_before=knobs_before,
        knobs_after=knobs_after,
        levels_before=points.levels(session, [point.run_id for point in shift.old_points[-_NEAREST_RUNS:]]),
        levels_after=points.levels(session, [point.run_id for point in shift.new_points[:_NEAREST_RUNS]]),
        costs=_costs(session, row, shift),
    )


def _costs(session: Session, row: Series, shift: SeriesDrift) -> FaultCosts:
    """Return what a fault costs on both sides, as far as profiles and the host's canary show it."""
    if row.metric not in PRICED:
        return FaultCosts()
    before, after = (
        profiles.seconds_per_fault(
            session,
            profiles.ProfileFilter(row.subject.name, row.case.name, point.revision, row.host.name),
            point.environment,
        )
        for point in (shift.before, shift.after)
    )
    report = runs.report(session, shift.after.run_id)
    canary = report.canary if report else None
    return FaultCosts(before, after, canary.seconds_per_fault if canary and canary.holds else None)
