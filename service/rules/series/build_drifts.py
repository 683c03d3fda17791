"""Builds the documents of a series' drifts, in words and numbers: what moved, where, the evidence, and the price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from runner.contract import CATALOGUE, get_metric
from runner.contract.level import compute_median
from runner.contract.report import hash_document
from service.rules import fault_price
from service.rules.fault_price import FaultCosts
from service.rules.relative_change import compute_percent_change
from service.rules.series.cause import list_setting_changes
from service.rules.series.drift_budgets import are_within_budget
from service.rules.series.find_drifts import SeriesDrift, get_direction
from service.schemas.history import Candidate, Companion, Drift, Evidence, Number, SeriesHead

Levels = Mapping[str, Sequence[Number]]
"""For each metric of a case, its levels in some runs."""


@dataclass(frozen=True, slots=True)
class DriftContext:
    """The stored data that the description of a drift needs.

    Attributes
    ----------
    title, author, committed_at
        Title, author and date of the revision of the first point on the new level.
    candidates
        Commits that could have caused the drift, oldest first.
    candidates_known
        Whether ``candidates`` is complete.
    settings_before, settings_after
        The settings of the two environments.
    levels_before, levels_after
        The levels of all metrics of the case in the runs nearest to the change, on both sides.
    costs
        What one fault costs.
    """

    title: str
    author: str
    committed_at: datetime
    candidates: Sequence[Candidate]
    candidates_known: bool
    settings_before: Mapping[str, str]
    settings_after: Mapping[str, str]
    levels_before: Levels
    levels_after: Levels
    costs: FaultCosts = field(default_factory=FaultCosts)


REPEATING_RULES = frozenset({"exact", "repeat"})
"""The rules for series whose runs repeat a count: samples off it are outliers, not noise."""


def make_drift_ids(series_id: int, drifts: Sequence[SeriesDrift]) -> list[str]:
    """Return an id for each drift, derived from its location, so that it stays the same as the series grows."""
    n_of_location: Counter[tuple[object, ...]] = Counter()
    ids = []
    for drift in drifts:
        # Drifts at the same location are numbered in their order.
        location = (series_id, drift.after.revision, drift.before.environment, drift.after.environment)
        ids.append(hash_document([*location, n_of_location[location]]))
        n_of_location[location] += 1
    return ids


def build_drifts(
    head: SeriesHead, drifts: Sequence[SeriesDrift], contexts: Sequence[DriftContext], floor: Number | None
) -> list[Drift]:
    """Return the drifts of a series as the API describes them.

    Parameters
    ----------
    contexts
        The context of each drift.
    floor
        By how much runs with the same bytes differ; None if it was not measured.
    """
    ids = make_drift_ids(head.id, drifts)
    within_budget = are_within_budget(drifts, head.budget, head.better)
    return [
        _build_drift(drift_id, head, drift, context, is_within_budget=is_within_budget, floor=floor)
        for drift_id, drift, context, is_within_budget in zip(ids, drifts, contexts, within_budget, strict=True)
    ]


def _build_drift(
    drift_id: str,
    head: SeriesHead,
    drift: SeriesDrift,
    context: DriftContext,
    *,
    is_within_budget: bool,
    floor: Number | None,
) -> Drift:
    """Return one drift as the API describes it, with its evidence, its settings and its price."""
    before, after = drift.change.before, drift.change.after
    last_good, first_bad = drift.outer_revisions
    return Drift(
        id=drift_id,
        series_id=head.id,
        subject=head.subject,
        host=head.host,
        case=head.case,
        workload=head.workload,
        metric=head.metric,
        unit=head.unit,
        kind=head.kind,
        cause=drift.cause,
        direction=get_direction(drift, head.better),
        revision=drift.after.revision,
        title=context.title,
        author=context.author,
        committed_at=context.committed_at,
        previous_revision=drift.before.revision,
        last_good=last_good,
        first_bad=first_bad,
        candidates=list(context.candidates),
        candidates_known=context.candidates_known,
        before=before,
        after=after,
        change=after - before,
        percent=compute_percent_change(after - before, before),
        rule=drift.change.rule,
        evidence=Evidence(
            n_before=len(drift.old_points),
            n_after=len(drift.new_points),
            spread=drift.spread,
            sentence=drift.change.evidence,
            wants_rerun=drift.change.wants_rerun,
            pairs=drift.pairs,
        ),
        settings=list_setting_changes(context.settings_before, context.settings_after),
        run_before=drift.before.run_id,
        run_after=drift.after.run_id,
        environment_before=drift.before.environment,
        environment_after=drift.after.environment,
        companions=list_other_metrics(head.metric, context.levels_before, context.levels_after),
        within_budget=is_within_budget,
        price=fault_price.price_change(
            head.metric,
            fault_price.Side(before, _compute_medians(context.levels_before), context.settings_before),
            fault_price.Side(after, _compute_medians(context.levels_after), context.settings_after),
            context.costs,
            # Counts that repeat add no uncertainty to the price.
            spread=0 if drift.change.rule in REPEATING_RULES else drift.spread,
        ),
        floor=floor,
    )


def _compute_medians(levels: Levels) -> dict[str, Number]:
    medians = {name: compute_median(values) for name, values in levels.items()}
    return {name: median for name, median in medians.items() if median is not None}


def list_other_metrics(judged_metric: str, before: Levels, after: Levels) -> list[Companion]:
    """Return the other metrics of the case with their levels on both sides, in the order of the catalogue."""
    order = {name: position for position, name in enumerate(CATALOGUE)}
    names = sorted(
        (before.keys() & after.keys()) - {judged_metric}, key=lambda name: (order.get(name, len(order)), name)
    )
    companions = []
    for name in names:
        level_before, level_after = compute_median(before[name]), compute_median(after[name])
        assert level_before is not None
        assert level_after is not None
        entry = get_metric(name)
        companions.append(
            Companion(metric=name, title=entry.title, unit=entry.unit, before=level_before, after=level_after)
        )
    return companions
