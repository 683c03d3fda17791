"""The verdicts of interleaved comparisons, by series."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from runner.contract import Comparison, ComparisonRequest, MetricVerdict, Verdict
from service.rules.series.proofs import Proof
from service.store import shared_rows
from service.store.models import Environment, ProofRow, Series


def store_proofs(session: Session, request: ComparisonRequest, comparison: Comparison) -> None:
    """Store the verdict of a comparison on each metric, and mark the affected series to be judged again.

    Only a comparison of two commits is a proof: both sides have the same case and environment, and were measured in one
    session. The same session may be sent once more, after more pairs; its earlier verdicts are then replaced.
    """
    base, head = request.base, request.head
    if base.case != head.case or base.environment != head.environment or base.session is None:
        return
    # Find the rows to which the proof belongs.
    decided_verdicts = [verdict for verdict in comparison.metrics if verdict.verdict is not Verdict.NEEDS_MORE_RUNS]
    subject_id = shared_rows.ensure_subjects(session, [base.subject])[base.subject]
    key = shared_rows.make_case_key(base.case)
    environment = base.environment
    shared_ids = shared_rows.ensure_shared_rows(
        session, [base.host.name], {key: base.case}, {environment.hash: environment}
    )
    case_id = shared_ids.cases[key]
    host_id = shared_ids.hosts[base.host.name]
    # Replace the earlier verdicts of the session.
    is_of_session = (ProofRow.session == base.session) & (ProofRow.case_id == case_id)
    has_earlier_verdicts = session.scalar(select(ProofRow.id).where(is_of_session).limit(1)) is not None
    session.execute(delete(ProofRow).where(is_of_session))
    rows = [
        {
            "session": base.session,
            "subject_id": subject_id,
            "host_id": host_id,
            "case_id": case_id,
            "environment_id": shared_ids.environments[environment.hash],
            "metric": verdict.metric,
            "base": base.revision.commit,
            "head": head.revision.commit,
            "verdict": verdict.verdict,
            "pairs": min(verdict.base.n, verdict.head.n),
            "before": verdict.base.level,
            "after": verdict.head.level,
            "measured_at": head.finished_at,
            "excluded": _find_excluded_change(verdict),
        }
        for verdict in decided_verdicts
        if verdict.base.level is not None and verdict.head.level is not None
    ]
    if rows:
        session.execute(insert(ProofRow), rows)
    if rows or has_earlier_verdicts:
        # A higher version makes a series stale, so that it is judged again.
        is_of_case = (Series.subject_id == subject_id) & (Series.host_id == host_id) & (Series.case_id == case_id)
        session.execute(update(Series).where(is_of_case).values(version=Series.version + 1))


def _find_excluded_change(verdict: MetricVerdict) -> float | None:
    """Return the smallest change that the pairs of a metric exclude; None if they exclude every change, or none."""
    if verdict.verdict is not Verdict.SAME:
        return None
    if verdict.bounds is not None:
        # A change within the bounds, which are in percent, may be real, although the comparison was not asked for such
        # a small one.
        mean_level = (abs(verdict.base.level or 0) + abs(verdict.head.level or 0)) / 2
        return max(map(abs, verdict.bounds)) / 100 * mean_level
    # With a threshold of one event, every change of a count is excluded.
    return verdict.threshold if verdict.rule == "counts" and verdict.threshold != 1 else None


def map_proofs_by_series(session: Session, series_ids: Collection[int]) -> dict[int, list[Proof]]:
    """Return the proofs of each of the given series, by the id of the series."""
    proofs_by_series: dict[int, list[Proof]] = {series_id: [] for series_id in series_ids}
    rows = session.execute(
        select(Series.id, ProofRow.base, ProofRow.head, Environment.hash, ProofRow.verdict, ProofRow.pairs)
        .add_columns(ProofRow.before, ProofRow.after, ProofRow.measured_at, ProofRow.excluded)
        .join(
            ProofRow,
            (ProofRow.subject_id == Series.subject_id)
            & (ProofRow.host_id == Series.host_id)
            & (ProofRow.case_id == Series.case_id)
            & (ProofRow.metric == Series.metric),
        )
        .join(Environment, ProofRow.environment_id == Environment.id)
        .where(Series.id.in_(series_ids))
        .order_by(ProofRow.measured_at, ProofRow.id)
    )
    for series_id, *values in rows:
        proofs_by_series[series_id].append(Proof(*values))
    return proofs_by_series
