"""Puts a drift into words and numbers: what moved, where, why we think so, and what it cost. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runner.contract import CATALOGUE, metric
from runner.contract.level import median
from runner.contract.report import hash_of
from service.rules.series.blame import knob_changes
from service.rules.series.find_drifts import SeriesDrift, direction, percent
from service.schemas.history import Candidate, Companion, Drift, Evidence, Number, SeriesHead

Levels = Mapping[str, Sequence[Number]]
"""Levels of each metric of a case over some runs."""


@dataclass(frozen=True, slots=True)
class DriftContext:
    """What is looked up about a shift before it can be told.

    Attributes
    ----------
    title, author, committed_at
        Of the revision of the first point on the new level.
    candidates
        Commits across which the level changed, oldest first.
    knobs_before, knobs_after
        The two environments.
    levels_before, levels_after
        All metrics of the case over the runs nearest to the shift, on both sides.
    """

    title: str
    author: str
    committed_at: datetime
    candidates: Sequence[Candidate]
    knobs_before: Mapping[str, str]
    knobs_after: Mapping[str, str]
    levels_before: Levels
    levels_after: Levels


def drift_ids(series_id: int, shifts: Sequence[SeriesDrift]) -> list[str]:
    """Name each shift by what it is a shift of, so that it keeps its name while the series goes on."""
    seen: Counter[tuple[object, ...]] = Counter()
    names = []
    for shift in shifts:
        place = (series_id, shift.after.revision, shift.before.environment, shift.after.environment)
        names.append(hash_of([*place, seen[place]]))
        seen[place] += 1
    return names


def describe_drift(identity: str, head: SeriesHead, shift: SeriesDrift, context: DriftContext) -> Drift:
    """Return a shift as the API tells it."""
    before, after = shift.found.before, shift.found.after
    return Drift(
        id=identity,
        series_id=head.id,
        subject=head.subject,
        host=head.host,
        case=head.case,
        workload=head.workload,
        metric=head.metric,
        unit=head.unit,
        kind=head.kind,
        cause=shift.cause,
        direction=direction(shift, head.better),
        revision=shift.after.revision,
        title=context.title,
        author=context.author,
        committed_at=context.committed_at,
        previous_revision=shift.before.revision,
        candidates=list(context.candidates),
        before=before,
        after=after,
        change=after - before,
        percent=percent(before, after),
        rule=shift.found.rule,
        evidence=Evidence(
            n_before=len(shift.old),
            n_after=len(shift.new),
            spread=shift.spread,
            sentence=shift.found.evidence,
            wants_rerun=shift.found.wants_rerun,
        ),
        knobs=knob_changes(context.knobs_before, context.knobs_after),
        run_before=shift.before.run_id,
        run_after=shift.after.run_id,
        environment_before=shift.before.environment,
        environment_after=shift.after.environment,
        companions=companions(head.metric, context.levels_before, context.levels_after),
    )


def companions(judged: str, before: Levels, after: Levels) -> list[Companion]:
    """Set the other metrics of the case on both sides against each other, in the order of the catalogue."""
    order = {name: place for place, name in enumerate(CATALOGUE)}
    names = sorted((before.keys() & after.keys()) - {judged}, key=lambda name: (order.get(name, len(order)), name))
    told = []
    for name in names:
        old, new = median(before[name]), median(after[name])
        assert old is not None
        assert new is not None
        told.append(Companion(metric=name, title=metric(name).title, unit=metric(name).unit, before=old, after=new))
    return told
