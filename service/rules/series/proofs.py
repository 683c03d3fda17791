"""Applies the results of interleaved pairs of commits to the drifts of a series.

The runs of a series nominate changes; a comparison of two of its commits, measured interleaved in one session, decides.
If the pairs differ, there is a change between these two commits; if they do not, there is none, whatever the runs show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from runner.contract import Verdict
from runner.contract.proof_power import DEFAULT_RISE_PERCENT
from service.rules.detect import LevelChange
from service.rules.detect.level_change import format_change
from service.rules.series.find_drifts import SeriesDrift
from service.rules.series.point_order import PathPoint, Points, Trend
from service.schemas.history import Cause, Number


@dataclass(frozen=True, slots=True)
class Proof:
    """The verdict of an interleaved comparison on the metric of a series.

    Attributes
    ----------
    base, head
        The compared commits.
    environment
        Hash of the environment in which both were measured.
    verdict
        Changed or the same: a comparison without a decision proves nothing.
    pairs
        How many pairs were measured.
    before, after
        The levels of base and head in this session.
    measured_at
        When the comparison ended.
    excluded
        The smallest change that its pairs exclude, if they are called the same; None where they exclude all.
    """

    base: str
    head: str
    environment: str
    verdict: Verdict
    pairs: int
    before: Number
    after: Number
    measured_at: datetime
    excluded: Number | None = None

    def excludes(self, size: Number) -> bool:
        """Return whether its pairs are called the same, and exclude a change of this size."""
        return self.verdict is Verdict.SAME and (self.excluded is None or self.excluded <= size)

    @property
    def goes_up(self) -> bool:
        """Whether head has the higher level."""
        return self.after > self.before


@dataclass(frozen=True, slots=True)
class _Span:
    """A proof whose ends lie on the trend: after ``first`` and up to ``last`` in the history."""

    first: int
    last: int
    proof: Proof

    def holds(self, other: _Span | SeriesDrift) -> bool:
        """Return whether another span, or the range of a drift, lies within this one."""
        first, last = _get_ends(other)
        return self.first <= first and last <= self.last

    def lies_within(self, drift: SeriesDrift) -> bool:
        """Return whether it lies within the range of a drift."""
        return drift.after_position <= self.first and self.last <= drift.up_to_position


def _get_ends(span: _Span | SeriesDrift) -> tuple[int, int]:
    """Return the positions between which a proof or a drift lies."""
    return (span.first, span.last) if isinstance(span, _Span) else (span.after_position, span.up_to_position)


def unify_proofs(proofs: Iterable[Proof], stand_ins: Mapping[str, str]) -> list[Proof]:
    """Return proofs with the environments that stand for theirs, as the points of their series have them."""
    return [replace(proof, environment=stand_ins.get(proof.environment, proof.environment)) for proof in proofs]


def apply_proofs(drifts: Sequence[SeriesDrift], proofs: Iterable[Proof], trend: Trend) -> list[SeriesDrift]:
    """Return the drifts of a series as the pairs of its commits have proven, narrowed or refuted them.

    A nomination within pairs that do not differ is dropped, and a drift that the runs show all the same has no commit
    as its cause. Pairs that differ where the runs show nothing are a drift as well.
    """
    points = trend.measured
    spans = _locate_proofs(proofs, points)
    changed = [span for span in spans if span.proof.verdict is Verdict.CHANGED]
    refuting_spans = [span for span in spans if span.proof.verdict is Verdict.SAME]
    narrowest = [
        span
        for span in changed
        if not any(
            span is not inner and span.holds(inner) and span.proof.goes_up == inner.proof.goes_up for inner in changed
        )
    ]
    settled: list[SeriesDrift] = []
    used: list[_Span] = []
    for drift in drifts:
        for result, span in _apply_proofs_to_drift(drift, drifts, [*narrowest, *refuting_spans], points):
            settled.append(result)
            used += [span] if span else []
    for span in narrowest:
        if span not in used and not any(
            _overlaps_drift(span, drift) and _has_same_direction(span, drift) for drift in settled
        ):
            settled += _make_drifts(span, points)
    return sorted(settled, key=lambda drift: drift.up_to_position)


def is_covered(first: PathPoint, last: PathPoint, proofs: Iterable[Proof], points: Points) -> bool:
    """Return whether pairs have shown that nothing worth a comparison changes between two points of a level."""
    size = abs(first.value) * DEFAULT_RISE_PERCENT / 100
    return any(
        span.proof.excludes(size) and span.proof.environment == first.environment
        for span in _locate_proofs(proofs, points)
        if span.first <= first.position and last.position <= span.last
    )


def _locate_proofs(proofs: Iterable[Proof], points: Points) -> list[_Span]:
    """Return the proofs whose commits were measured in the same environment; the newest of each two commits."""
    positions: Mapping[tuple[str, str], int] = {(point.revision, point.environment): point.position for point in points}
    newest: dict[tuple[int, int, str], _Span] = {}
    for proof in sorted(proofs, key=lambda proof: proof.measured_at):
        first = positions.get((proof.base, proof.environment))
        last = positions.get((proof.head, proof.environment))
        if first is None or last is None or first == last:
            continue
        if first > last:
            proof = replace(  # noqa: PLW2901
                proof, base=proof.head, head=proof.base, before=proof.after, after=proof.before
            )
            first, last = last, first
        newest[first, last, proof.environment] = _Span(first, last, proof)
    return list(newest.values())


def _apply_proofs_to_drift(
    drift: SeriesDrift, drifts: Sequence[SeriesDrift], spans: Sequence[_Span], points: Points
) -> Iterator[tuple[SeriesDrift, _Span | None]]:
    """Yield what pairs leave of a drift: its proven parts, the narrowed drift, or nothing if they refute it."""
    environment = drift.after.environment
    if drift.before.environment != environment:
        yield drift, None  # pairs in one environment say nothing about an environment change
        return
    spans = [span for span in spans if span.proof.environment == environment]
    changed = [span for span in spans if span.proof.verdict is Verdict.CHANGED and _has_same_direction(span, drift)]
    size = abs(drift.change.after - drift.change.before)
    refuting_spans = [span for span in spans if span.proof.excludes(size)]
    others = [span for span in spans if span.proof.verdict is Verdict.CHANGED and span not in changed] + refuting_spans

    # Pairs within its range that differ: each of them is a drift of its own.
    inner = [span for span in changed if span.lies_within(drift)]
    if inner:
        for span in inner:
            yield _build_proven_drift(drift, span, points, is_whole=len(inner) == 1), span
        return

    # Pairs around it, and around no other drift.
    outer = [span for span in changed if span.holds(drift) and _is_alone(drift, span, drifts)]
    if outer:
        span = min(outer, key=lambda span: span.last - span.first)
        yield (
            _build_proven_drift(drift, span, points, is_whole=True)
            if drift.change.wants_rerun
            else _confirm_drift(drift, span),
            span,
        )
        return
    refuting = next((span for span in others if span.holds(drift) and _is_alone(drift, span, drifts)), None)
    if refuting is None:
        yield _narrow_drift(drift, refuting_spans), None
    elif not drift.change.wants_rerun:
        words = f"; {refuting.proof.pairs} interleaved pairs of the two commits do not show it"
        yield replace(drift, cause=Cause.UNKNOWN, change=_append_evidence(drift.change, words)), None


def _has_same_direction(span: _Span, drift: SeriesDrift) -> bool:
    return span.proof.goes_up == drift.goes_up


def _is_alone(drift: SeriesDrift, span: _Span, drifts: Sequence[SeriesDrift]) -> bool:
    """Return whether a span overlaps no other drift."""
    return not any(other is not drift and _overlaps_drift(span, other) for other in drifts)


def _overlaps_drift(span: _Span, drift: SeriesDrift) -> bool:
    return span.first < drift.up_to_position and drift.after_position < span.last


def _append_evidence(change: LevelChange, words: str) -> LevelChange:
    return replace(change, evidence=change.evidence + words)


def _confirm_drift(drift: SeriesDrift, span: _Span) -> SeriesDrift:
    """Return a drift that pairs have proven, without its doubt."""
    change = _append_evidence(drift.change, f"; {_describe_pairs(span.proof)}")
    return replace(drift, change=replace(change, wants_rerun=False), pairs=span.proof.pairs)


def _describe_pairs(proof: Proof) -> str:
    return f"{proof.pairs} interleaved pairs of the two commits differ, {format_change(proof.before, proof.after)}"


def _build_proven_drift(drift: SeriesDrift, span: _Span, points: Points, *, is_whole: bool) -> SeriesDrift:
    """Return a drift as its pairs have proven it, between the two commits that they compared.

    Parameters
    ----------
    is_whole
        Whether no other pairs have a part of the drift: then its levels are those of its runs.
    """
    proof = span.proof
    change = replace(_append_evidence(drift.change, f"; {_describe_pairs(proof)}"), wants_rerun=False)
    if drift.change.wants_rerun:
        change = replace(change, rule="paired", evidence=_describe_pairs(proof))
    if not is_whole:
        change = replace(change, before=proof.before, after=proof.after)
    old, new = _split_points(points, span, drift)
    return replace(
        drift,
        old_points=old or drift.old_points,
        new_points=new or drift.new_points,
        cause=Cause.COMMIT,
        after_position=span.first,
        up_to_position=span.last,
        suspects=(proof.base, proof.head),
        change=change,
        pairs=proof.pairs,
    )


def _split_points(points: Points, span: _Span, drift: SeriesDrift | None = None) -> tuple[Points, Points]:
    """Return the points up to the older commit of a span, and those from the newer one on, within those of a drift."""
    drift_points = drift.old_points + drift.new_points if drift else points
    in_environment = sorted(
        (point for point in drift_points if point.environment == span.proof.environment), key=_get_position
    )
    return (
        tuple(point for point in in_environment if point.position <= span.first),
        tuple(point for point in in_environment if point.position >= span.last),
    )


def _get_position(point: PathPoint) -> tuple[int, datetime]:
    return point.position, point.measured_at


def _narrow_drift(drift: SeriesDrift, same: Sequence[_Span]) -> SeriesDrift:
    """Return a drift without the ends of its range between which pairs do not differ."""
    first, last = drift.after_position, drift.up_to_position
    old, new = drift.suspects
    while True:
        head = next((span for span in same if span.first <= first < span.last < last), None)
        tail = next((span for span in same if first < span.first < last <= span.last), None)
        if head:
            first, old = head.last, head.proof.head
        elif tail:
            last, new = tail.first, tail.proof.base
        else:
            return replace(drift, after_position=first, up_to_position=last, suspects=(old, new))


def _make_drifts(span: _Span, points: Points) -> list[SeriesDrift]:
    """Return the drift that pairs have proven where the runs show none, if both commits have runs."""
    proof = span.proof
    old, new = _split_points(points, span)
    if not old or not new:
        return []
    evidence = _describe_pairs(proof)
    change = LevelChange(len(old), proof.before, proof.after, len(old), len(old), "paired", evidence)
    return [
        SeriesDrift(
            old_points=old,
            new_points=new,
            cause=Cause.COMMIT,
            after_position=span.first,
            up_to_position=span.last,
            suspects=(proof.base, proof.head),
            change=change,
            pairs=proof.pairs,
        )
    ]
