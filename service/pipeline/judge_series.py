"""Judges series of one session: their drifts, their sparklines, and which former drifts no longer stand."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Kind, metric
from service.rules.fault_price import PRICED, FaultCosts
from service.rules.same_bytes import system_file_knobs, upgraded_files
from service.rules.series import describe_drift
from service.rules.series.candidate_commits import are_all_known, commits_between
from service.rules.series.drift_budgets import within_budget
from service.rules.series.find_drifts import Baselines, SeriesDrift, find_drifts
from service.rules.series.floor import calibrated_floor
from service.rules.series.sparkline import Sparkline
from service.rules.series.tracks import PathPoint, Trend
from service.rules.series.withdrawal import withdrawals
from service.schemas import history
from service.schemas.history import Cause
from service.store import drifts, events, points, profiles, revisions, runs, series, sparklines
from service.store.models import DriftRow, Revision, Series

log = logging.getLogger(__name__)

_NEAREST_RUNS = 5
"""Runs on each side of a drift whose other metrics are shown with it: one run says little about a noisy metric."""


@dataclass(frozen=True, slots=True)
class JudgedSeries:
    """What a series shows.

    Attributes
    ----------
    subject, series_id
        The series.
    version, judged_version
        The version of it that was judged, and the one that was judged before.
    drifts
        Its drifts, as they are stored.
    differ
        Whether they are others than those stored of the version that was judged before.
    sparkline
        Its sparkline; None without any point.
    withdrawn
        Why former drifts no longer stand, by their ids.
    """

    subject: str
    series_id: int
    version: int
    judged_version: int
    drifts: list[DriftRow]
    differ: bool
    sparkline: Sparkline | None
    withdrawn: dict[str, str]


def judge(session: Session, series_ids: Collection[int]) -> tuple[list[JudgedSeries], set[int]]:
    """Judge those of some series that have changed since they were judged.

    They are judged together, so that what they share is read once. Where that fails, each is judged by itself.

    Returns
    -------
    tuple
        What the series show, and the ids of those that cannot be judged: they must not keep the others from it.
    """
    try:
        return _judge_together(session, series_ids), set()
    except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
        if len(series_ids) == 1:
            log.exception("series %d could not be judged", *series_ids)
            return [], set(series_ids)
    alone = [judge(session, [one]) for one in series_ids]
    return [one for judged, _ in alone for one in judged], {one for _, failed in alone for one in failed}


def _judge_together(session: Session, series_ids: Collection[int]) -> list[JudgedSeries]:
    stale = series.find_stale(session, series_ids)
    ids = [row.id for row in stale]
    trends, former = points.trends_of(session, ids), drifts.rows_of_series(session, ids)
    baselines, facts = events.baselines(session, ids), _Facts(session)
    return [_judge(facts, row, trends[row.id], baselines.get(row.id, {}), former[row.id]) for row in stale]


class _Facts:
    """Reads what drifts are described with, each once: a change shows in many metrics of the same runs."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.parents = cache(partial(revisions.parents, session))
        self.knobs = cache(partial(points.knobs, session))
        self.levels = cache(partial(points.levels, session))
        self.report = cache(partial(runs.report, session))

    def system_files(self, point: PathPoint) -> dict[str, str]:
        """Return the files of the host that the program of a run mapped."""
        report = self.report(point.run_id)
        return system_file_knobs(report) if report else {}


def _judge(facts: _Facts, row: Series, trend: Trend, baselines: Baselines, former: Sequence[DriftRow]) -> JudgedSeries:
    head = series.head(row)
    # A count that other things on the host move too, such as context switches, repeats by chance only.
    kind = head.kind if metric(head.metric).exact or head.kind not in {Kind.COUNT, Kind.SIZE} else Kind.RATE
    found = find_drifts(trend, kind, baselines) if row.judged else []
    shifts = [_with_upgrades(facts, shift) for shift in found]
    within = within_budget(shifts, head.budget, head.better)
    named = zip(describe_drift.drift_ids(row.id, shifts), shifts, within, strict=True)
    on_trend = (point for sequence in (trend.path, *trend.beside) for point in sequence)
    judged_points = {point.run_id: point for point in on_trend if not point.is_taken_over}
    floor = calibrated_floor(judged_points.values())
    views = [
        describe_drift.describe_drift(
            name, head, shift, replace(_context(facts, row, shift), within_budget=small, floor=floor)
        )
        for name, shift, small in named
    ]
    rows = [_row(view, shift.after.position) for view, shift in zip(views, shifts, strict=True)]
    stood = [history.Drift.model_validate(drift.document) for drift in former]
    return JudgedSeries(
        subject=head.subject,
        series_id=row.id,
        version=row.version,
        judged_version=row.judged_version,
        drifts=rows,
        differ=_contents(rows) != _contents(former),
        sparkline=sparklines.draw(trend, views),
        withdrawn=withdrawals(stood, views, judged_points.values(), judged=row.judged),
    )


def _contents(rows: Sequence[DriftRow]) -> dict[tuple[str, int], Mapping[str, object]]:
    return {(row.id, row.position): row.document for row in rows}


def _row(view: history.Drift, position: int) -> DriftRow:
    return DriftRow(
        id=view.id,
        series_id=view.series_id,
        cause=view.cause,
        committed_at=view.committed_at,
        position=position,
        document=view.model_dump(mode="json"),
    )


def _with_upgrades(facts: _Facts, shift: SeriesDrift) -> SeriesDrift:
    """Blame a change on the configuration too, if a file of the host that both sides mapped was upgraded between them.

    That the programs map different files is no upgrade: a commit can link another library.
    """
    systems = {shift.before.program_bytes.system, shift.after.program_bytes.system}
    if shift.cause is not Cause.COMMIT or "" in systems or len(systems) == 1:
        return shift
    before, after = (facts.system_files(point) for point in (shift.before, shift.after))
    return replace(shift, cause=Cause.BOTH) if upgraded_files(before, after) else shift


def _knobs(facts: _Facts, shift: SeriesDrift) -> Sequence[Mapping[str, str]]:
    """Return the knobs of the sides before and after, and upgraded files of the host as knobs if only those differ."""
    sides = (shift.before, shift.after)
    held = [facts.knobs(point.environment) for point in sides]
    if shift.cause not in {Cause.CONFIG, Cause.BOTH} or shift.before.environment != shift.after.environment:
        return held
    files = [facts.system_files(point) for point in sides]
    upgraded = upgraded_files(*files)
    shown = [{name: side[name] for name in upgraded} for side in files] if shift.cause is Cause.BOTH else files
    return [{**knobs, **side} for knobs, side in zip(held, shown, strict=True)]


def _context(facts: _Facts, row: Series, shift: SeriesDrift) -> describe_drift.DriftContext:
    session, parents = facts.session, facts.parents(row.subject_id)
    of_subject = select(Revision).where(Revision.subject_id == row.subject_id)
    knobs_before, knobs_after = _knobs(facts, shift)
    blamed = session.scalars(of_subject.where(Revision.commit == shift.after.revision)).one()
    return describe_drift.DriftContext(
        title=blamed.title,
        author=blamed.author,
        committed_at=blamed.committed_at,
        candidates=revisions.candidates(session, row.subject_id, commits_between(parents, *shift.suspects)),
        candidates_known=are_all_known(parents, *shift.suspects),
        knobs_before=knobs_before,
        knobs_after=knobs_after,
        levels_before=facts.levels(tuple(point.run_id for point in shift.old_points[-_NEAREST_RUNS:])),
        levels_after=facts.levels(tuple(point.run_id for point in shift.new_points[:_NEAREST_RUNS])),
        costs=_costs(facts, row, shift),
    )


def _costs(facts: _Facts, row: Series, shift: SeriesDrift) -> FaultCosts:
    """Return what a fault costs on both sides, as far as profiles and the host's canary show it."""
    if row.metric not in PRICED:
        return FaultCosts()
    before, after = (
        profiles.seconds_per_fault(
            facts.session,
            profiles.ProfileFilter(row.subject.name, row.case.name, point.revision, row.host.name),
            point.environment,
        )
        for point in (shift.before, shift.after)
    )
    report = facts.report(shift.after.run_id)
    canary = report.canary if report else None
    return FaultCosts(before, after, canary.seconds_per_fault if canary and canary.holds else None)
