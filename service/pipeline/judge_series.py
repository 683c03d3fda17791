"""Judges series: detects their drifts again, draws their sparklines, and finds which former drifts are withdrawn."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from service.pipeline.drift_facts import DriftFacts
from service.rules.series.build_drifts import build_drifts
from service.rules.series.find_drifts import Baselines, SeriesDrift, find_drifts, is_exact_count
from service.rules.series.noise_floor import calibrate_floor
from service.rules.series.point_order import Trend
from service.rules.series.proofs import Proof, apply_proofs, unify_proofs
from service.rules.series.sparkline import Sparkline
from service.rules.series.withdrawn_drifts import explain_withdrawals
from service.schemas.history import Drift
from service.store.events import events
from service.store.models import DriftRow, Series
from service.store.series import drifts, proofs, series, sparklines
from service.store.series.trend_points import arrange_trends

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgedSeries:
    """The result of judging a series.

    Attributes
    ----------
    subject, series_id
        The series.
    version, judged_version
        The version that was judged, and the version of the previous judging.
    drifts
        Its drifts in their stored form.
    has_changed_drifts
        Whether they differ from the stored drifts of the previous judging.
    sparkline
        Its sparkline; None if it has no points.
    withdrawal_reasons
        Why former drifts are withdrawn, by their ids.
    """

    subject: str
    series_id: int
    version: int
    judged_version: int
    drifts: list[DriftRow]
    has_changed_drifts: bool
    sparkline: Sparkline | None
    withdrawal_reasons: dict[str, str]


class _FixedFacts(NamedTuple):
    """The facts besides its runs that decide about a series: expected levels, and proofs by interleaved pairs."""

    baselines: Baselines
    proofs: Sequence[Proof]


def judge_series(session: Session, series_ids: Collection[int]) -> tuple[list[JudgedSeries], set[int]]:
    """Judge those of the given series that have changed since they were last judged.

    They are judged together, so that shared data is read once. If this fails, each is judged separately.

    Returns
    -------
    tuple
        The results, and the ids of the series that cannot be judged, which must not prevent judging the others.
    """
    try:
        return _judge_batch(session, series_ids), set()
    except SQLAlchemyError:
        raise  # the database fails for all series, and may work again at the next attempt
    except Exception:
        if len(series_ids) == 1:
            log.exception("series %d could not be judged", *series_ids)
            return [], set(series_ids)
    single_results = [judge_series(session, [series_id]) for series_id in series_ids]
    judged_series = [result for results, _ in single_results for result in results]
    return judged_series, {series_id for _, failed_ids in single_results for series_id in failed_ids}


def _judge_batch(session: Session, series_ids: Collection[int]) -> list[JudgedSeries]:
    """Judge those of the given series that are stale; shared data is read once."""
    stale_rows = series.find_stale_series(session, series_ids)
    ids = [row.id for row in stale_rows]
    trends = arrange_trends(session, ids)
    former_rows = drifts.map_rows_by_series(session, ids)
    baselines = events.read_baselines(session, ids)
    facts = DriftFacts(session)
    proofs_of_series = {
        series_id: unify_proofs(series_proofs, trends[series_id].stand_ins)
        for series_id, series_proofs in proofs.map_proofs_by_series(session, ids).items()
    }
    return [
        _judge_one_series(
            facts,
            row,
            trends[row.id],
            _FixedFacts(baselines.get(row.id, {}), proofs_of_series[row.id]),
            former_rows[row.id],
        )
        for row in stale_rows
    ]


def _judge_one_series(
    facts: DriftFacts, row: Series, trend: Trend, fixed_facts: _FixedFacts, former_rows: Sequence[DriftRow]
) -> JudgedSeries:
    """Detect the drifts of one series, apply proofs to them, and compare the result with the former drifts."""
    head, measured_points = series.read_head(row), trend.measured
    changes: list[SeriesDrift] = []
    if row.judged:
        changes = find_drifts(trend, is_exact=is_exact_count(head), baselines=fixed_facts.baselines)
        changes = [facts.blame_upgrades(change) for change in changes]
        changes = apply_proofs(changes, fixed_facts.proofs, trend)
    contexts = [facts.find_description_facts(row, change) for change in changes]
    described_drifts = build_drifts(head, changes, contexts, calibrate_floor(measured_points))
    rows = [
        drifts.make_row(drift, change.after.position) for drift, change in zip(described_drifts, changes, strict=True)
    ]
    former_drifts = [Drift.model_validate(drift.document) for drift in former_rows]
    return JudgedSeries(
        subject=head.subject,
        series_id=row.id,
        version=row.version,
        judged_version=row.judged_version,
        drifts=rows,
        has_changed_drifts=drifts.do_differ(rows, former_rows),
        sparkline=sparklines.draw_path(trend, described_drifts),
        withdrawal_reasons=explain_withdrawals(
            former_drifts, described_drifts, measured_points, trend.former_points, is_judged=row.judged
        ),
    )
