"""Lists the changes that the stored runs of a workload on one host make likely, for a runner to prove or refute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy.orm import Session

from runner.contract import Case, Verdict
from runner.contract.nomination import Nomination, NominationList
from service.pipeline.comparison_power import read_powers
from service.rules.detect.nomination import MAX_NOMINATED_POINTS
from service.rules.relative_change import compute_change_rank, compute_percent_change
from service.rules.series.build_drifts import REPEATING_RULES
from service.rules.series.find_drifts import nominate_newest_change
from service.rules.series.point_order import PathPoint, Points, Trend
from service.rules.series.proofs import Proof, are_changes_excluded, unify_proofs
from service.schemas.history import Drift, SeriesDetail, SeriesHead, Standing
from service.store.series import drifts, proofs, series
from service.store.series.history_window import find_newest_window
from service.store.series.series import SeriesFilter
from service.store.series.trend_points import arrange_trends

MAX_NOMINATIONS = 1000
"""Maximum number of nominations in an answer."""
MAX_CLEAR_STEPS = 10
"""At most this many steps between neighbouring points are worth a comparison."""
MAX_LIKELY_POINTS = 256
"""A page looks for likely changes among so many of the newest points of a series: more than a nomination reads."""


class _RankedNomination(NamedTuple):
    """A nomination with its place among all nominations."""

    rank: tuple[bool, float]
    """The sort key: likely changes come first, then larger changes."""
    nomination: Nomination


def list_nominations(session: Session, series_filter: SeriesFilter) -> NominationList:
    """Return the nominations of the judged series that a filter selects: likely ones first, then the largest."""
    heads = [series.read_head(row) for row in series.list_judged_series(session, series_filter)]
    ids = [head.id for head in heads]
    stored_drifts = {
        series_id: [Drift.model_validate(row.document) for row in drift_rows]
        for series_id, drift_rows in drifts.map_rows_by_series(session, ids).items()
    }
    ranked_nominations, paths = _rank_nominations(session, heads, arrange_trends(session, ids), stored_drifts)
    items = tuple(entry.nomination for entry in ranked_nominations[:MAX_NOMINATIONS])
    return NominationList(items=items, powers=tuple(read_powers(session, paths)[:MAX_NOMINATIONS]))


def list_likely_changes(session: Session, judged_series: SeriesDetail) -> NominationList:
    """Return the nominations among the newest points of a series that are likelier than not, and its power.

    The list is empty if the series was deleted after it was read.
    """
    window = find_newest_window(session, judged_series.id, MAX_LIKELY_POINTS)
    trends = arrange_trends(session, [judged_series.id], window)
    heads = [judged_series] if judged_series.id in trends else []
    ranked_nominations, paths = _rank_nominations(session, heads, trends, {judged_series.id: judged_series.drifts})
    likely_nominations = tuple(entry.nomination for entry in ranked_nominations if entry.nomination.likely)
    return NominationList(items=likely_nominations, powers=tuple(read_powers(session, paths)))


def _rank_nominations(
    session: Session,
    heads: Sequence[SeriesHead],
    trends: Mapping[int, Trend],
    stored_drifts: Mapping[int, Sequence[Drift]],
) -> tuple[list[_RankedNomination], list[tuple[SeriesHead, Points]]]:
    """Return all nominations in the order of their rank, and the measured points of each series."""
    proofs_of_series = proofs.map_proofs_by_series(session, [head.id for head in heads])
    ranked_nominations: list[_RankedNomination] = []
    paths: list[tuple[SeriesHead, Points]] = []
    for head in heads:
        measured_points = tuple(point for point in trends[head.id].path if not point.is_reused)
        known_proofs = unify_proofs(proofs_of_series[head.id], trends[head.id].stand_ins)
        ranked_nominations += _list_unproven_drifts(head, stored_drifts[head.id], known_proofs)
        ranked_nominations += _list_worthwhile_changes(head, stored_drifts[head.id], measured_points, known_proofs)
        paths.append((head, measured_points))
    ranked_nominations.sort(key=lambda entry: entry.rank)
    return ranked_nominations, paths


def _list_clear_steps(level: Points) -> list[tuple[int, int]]:
    """Return the index pairs of adjacent points whose samples lie farther apart than they vary, largest step first.

    If several successive commits each move an exact count, the series looks noisy, so that no drift is found; if a
    commit moves a noisy count and the next one moves it back, no split of the runs shows it. Therefore these steps are
    nominated here.
    """
    steps: list[tuple[float, int]] = []
    for index, (before, after) in enumerate(pairwise(level)):
        spread = max(max(point.samples) - min(point.samples) for point in (before, after))
        gap = max(min(after.samples) - max(before.samples), min(before.samples) - max(after.samples))
        if gap > spread:
            steps.append((-abs(after.value - before.value), index))  # negative, so that the largest step sorts first
    return [(index, index + 1) for _, index in sorted(steps)[:MAX_CLEAR_STEPS]]


def _build_case(head: SeriesHead) -> Case:
    return Case(workload=head.workload, definition=head.definition, parameters=head.parameters)


def _list_unproven_drifts(
    head: SeriesHead, drifts: Iterable[Drift], known_proofs: Iterable[Proof]
) -> Iterator[_RankedNomination]:
    """Yield the drifts of a series that pairs can settle.

    Drifts that are not certain, and drifts with several candidates, count as likely. A drift of a noisy series that is
    certain only from its runs is also worth a comparison, because pairs prove that the commit caused it and not the
    host. A certain drift of a count that repeats needs no comparison.
    """
    compared_commits = {(proof.base, proof.head) for proof in known_proofs}
    for drift in drifts:
        if drift.environment_before != drift.environment_after or drift.good == drift.bad:
            continue  # pairs compare two commits in one environment
        is_likely = drift.evidence.wants_rerun or len(drift.candidates) > 1
        is_certain_by_runs = drift.evidence.standing is Standing.CERTAIN and drift.rule not in REPEATING_RULES
        if is_likely or (is_certain_by_runs and (drift.good, drift.bad) not in compared_commits):
            is_proven = drift.evidence.standing is Standing.PROVEN
            yield _build_ranked_nomination(
                head, drift.good, drift.bad, drift.before, drift.after, likely=is_likely, proven=is_proven
            )


def _list_worthwhile_changes(
    head: SeriesHead, drifts: Iterable[Drift], measured_points: Points, known_proofs: list[Proof]
) -> Iterator[_RankedNomination]:
    """Yield the pairs of commits on the newest levels of a noisy series that are worth an interleaved comparison.

    These are the clear steps, the most likely change, and the two ends of each level, unless proofs already cover them.
    The newest level alone is not enough: pairs prove the largest change first, which divides the other runs.
    """
    first_runs = {str(drift.run_after) for drift in drifts}
    level_begins = [index for index, point in enumerate(measured_points) if str(point.run_id) in first_runs]
    for begin, end in pairwise(sorted({0, *level_begins, len(measured_points)})):
        if end > len(measured_points) - MAX_NOMINATED_POINTS:
            yield from _list_changes_on_level(head, measured_points[begin:end], known_proofs)


def _list_changes_on_level(head: SeriesHead, level: Points, known_proofs: list[Proof]) -> Iterator[_RankedNomination]:
    """Yield the pairs of commits on one level of a noisy series that are worth an interleaved comparison."""
    if len({value for point in level for value in point.samples}) == 1:
        return  # all samples are equal, so the series is not noisy
    nomination = nominate_newest_change(level)
    clear_steps = _list_clear_steps(level)
    index_pairs = [*clear_steps]
    if nomination:
        # The change lies before one of the points from `low` to `high`, so it lies between these two points.
        index_pairs.append((nomination.low - 1, nomination.high))
    index_pairs.append((0, len(level) - 1))
    for base_index, head_index in dict.fromkeys(index_pairs):
        base_point, head_point = level[base_index], level[head_index]
        if base_point.revision == head_point.revision or base_point.environment != head_point.environment:
            continue  # pairs compare two commits in one environment
        is_step = (base_index, head_index) in clear_steps
        is_settled = (
            _is_step_settled(base_point, head_point, known_proofs)
            if is_step
            else are_changes_excluded(base_point, head_point, known_proofs, level)
        )
        if not is_settled:
            is_likely = is_step and _is_final_exact_step(level, base_index)
            yield _build_ranked_nomination(
                head, base_point.revision, head_point.revision, base_point.value, head_point.value, likely=is_likely
            )


def _is_step_settled(base_point: PathPoint, head_point: PathPoint, known_proofs: Iterable[Proof]) -> bool:
    """Return whether pairs of the two commits, in any environment, show a change, or exclude one of this size.

    Pairs of other commits say nothing about a step, because a step back may follow.
    """
    size = abs(head_point.value - base_point.value)
    return any(
        {proof.base, proof.head} == {base_point.revision, head_point.revision}
        and (proof.verdict is Verdict.CHANGED or proof.excludes(size))
        for proof in known_proofs
    )


def _is_final_exact_step(level: Points, index: int) -> bool:
    """Return whether the samples on each side of a step agree, and no value after it occurs before it.

    It is then neither noise, nor an outlier, nor a second mode.
    """
    are_exact = all(len(set(point.samples)) == 1 for point in level[index : index + 2])
    values_before = {value for point in level[: index + 1] for value in point.samples}
    values_after = {value for point in level[index + 1 :] for value in point.samples}
    return are_exact and values_before.isdisjoint(values_after)


def _build_ranked_nomination(
    head: SeriesHead,
    base_commit: str,
    head_commit: str,
    before: int | float,
    after: int | float,
    *,
    likely: bool,
    proven: bool = False,
) -> _RankedNomination:
    """Return the nomination of two commits with its sort key: likely changes first, then larger ones, in percent."""
    percent = compute_percent_change(after - before, before)
    nomination = Nomination(
        case=_build_case(head),
        metric=head.metric,
        base=base_commit,
        head=head_commit,
        before=before,
        after=after,
        percent=percent,
        likely=likely,
        proven=proven,
    )
    return _RankedNomination((not likely, -compute_change_rank(after - before, before)), nomination)
