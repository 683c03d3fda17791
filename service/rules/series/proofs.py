"""Applies the results of interleaved pairs of commits to the drifts of a series.

The runs of a series nominate changes; a comparison of two of its commits, measured interleaved in one session, decides.
If the pairs differ, there is a change between the two commits; if they do not, there is none, whatever the runs show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from runner.contract import Verdict
from runner.contract.proof_power import DEFAULT_RISE_PERCENT
from service.rules.detect import LevelChange
from service.rules.detect.level_change import format_change
from service.rules.series.build_drifts import REPEATING_RULES
from service.rules.series.find_drifts import SeriesDrift
from service.rules.series.point_order import PathPoint, Points, Trend
from service.schemas.history import Cause, Number
from service.text.cause_text import SHORT_HASH_DIGITS

_SAME_SIZE_DIVISOR = 20
"""Two changes that differ by no more than this part of the change count as equally large."""


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
        "Changed" or "the same"; an undecided comparison proves nothing.
    pairs
        How many pairs were measured.
    before, after
        The levels of base and head in this session.
    measured_at
        When the comparison ended.
    excluded
        If the verdict is "the same", the smallest change that the pairs exclude; None if they exclude every change.
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
        """Return whether the verdict is "the same", and the pairs exclude a change of this size."""
        return self.verdict is Verdict.SAME and (self.excluded is None or self.excluded <= size)

    def replaces(self, earlier: Proof) -> bool:
        """Return whether an earlier proof of the same commits no longer counts, because it is repeated or refuted.

        Pairs that exclude a large change say nothing against earlier pairs that show, or exclude, a smaller one.
        """
        if self.verdict is Verdict.SAME:
            return earlier.verdict is Verdict.CHANGED and self.excludes(earlier.size)
        return earlier.verdict is Verdict.CHANGED or earlier.excludes(self.size)

    @property
    def goes_up(self) -> bool:
        """Whether head has the higher level."""
        return self.after > self.before

    @property
    def size(self) -> Number:
        """The size of the change, without its direction."""
        return abs(self.after - self.before)


@dataclass(frozen=True, slots=True)
class _ProofRange:
    """A proof whose ends lie on the trend: after ``start_position`` and up to ``end_position`` in the history.

    Attributes
    ----------
    sequences
        The sequences of the trend that contain both ends. Only on them, positions say what lies between the ends: a
        commit of another branch can have a position between them too.
    is_elsewhere
        Whether the pairs were measured in another environment than that of the drifts that they may confirm here.
    """

    start_position: int
    end_position: int
    proof: Proof
    sequences: Sequence[_Sequence]
    is_elsewhere: bool = False

    def contains(self, other: _ProofRange | SeriesDrift) -> bool:
        """Return whether another range, or the range of a drift, lies within this one."""
        first, last = _get_positions(other)
        return self._shares_sequence(other) and self.start_position <= first and last <= self.end_position

    def lies_within(self, drift: SeriesDrift) -> bool:
        """Return whether this range lies within the range of a drift."""
        return (
            self._shares_sequence(drift)
            and drift.after_position <= self.start_position
            and self.end_position <= drift.up_to_position
        )

    def overlaps(self, drift: SeriesDrift) -> bool:
        """Return whether this range overlaps the range of a drift."""
        return (
            self._shares_sequence(drift)
            and self.start_position < drift.up_to_position
            and drift.after_position < self.end_position
        )

    def shows_same_change(self, other: _ProofRange) -> bool:
        """Return whether this range and another one are of the same commits and direction, in any environments."""
        return (self.start_position, self.end_position, self.proof.goes_up) == (
            other.start_position,
            other.end_position,
            other.proof.goes_up,
        )

    def _shares_sequence(self, other: _ProofRange | SeriesDrift) -> bool:
        """Return whether a sequence of the trend contains both ends of this range, and those of another one."""
        return any(_get_ends(other) <= sequence.measured_commits for sequence in self.sequences)


@dataclass(frozen=True, slots=True)
class _Sequence:
    """A sequence of a trend, with the commits that were measured in it, each with its environment."""

    points: Points
    measured_commits: frozenset[tuple[str, str]]


def _get_positions(proof_or_drift: _ProofRange | SeriesDrift) -> tuple[int, int]:
    """Return the positions between which a proof or a drift lies."""
    return (
        (proof_or_drift.start_position, proof_or_drift.end_position)
        if isinstance(proof_or_drift, _ProofRange)
        else (proof_or_drift.after_position, proof_or_drift.up_to_position)
    )


def _get_ends(proof_range: _ProofRange | SeriesDrift) -> set[tuple[str, str]]:
    """Return the commits on both sides of a proof or a drift, each with its environment."""
    if isinstance(proof_range, _ProofRange):
        proof = proof_range.proof
        return {(proof.base, proof.environment), (proof.head, proof.environment)}
    return {(point.revision, point.environment) for point in (proof_range.before, proof_range.after)}


def unify_proofs(proofs: Iterable[Proof], stand_ins: Mapping[str, str]) -> list[Proof]:
    """Return proofs with their environments replaced by equivalent ones, like those of the points of the series."""
    return [replace(proof, environment=stand_ins.get(proof.environment, proof.environment)) for proof in proofs]


def apply_proofs(drifts: Sequence[SeriesDrift], proofs: Iterable[Proof], trend: Trend) -> list[SeriesDrift]:
    """Return the drifts of a series after interleaved pairs of its commits have proven, narrowed or refuted them.

    If the pairs of a drift's commits do not differ, a suspected drift is dropped, and a certain drift loses its cause.
    Pairs that differ where the runs show nothing become a drift of their own.
    """
    proof_ranges = _locate_proofs(proofs, (trend.path, *trend.points_beside))
    changed_ranges = [proof_range for proof_range in proof_ranges if proof_range.proof.verdict is Verdict.CHANGED]
    refuting_ranges = [proof_range for proof_range in proof_ranges if proof_range.proof.verdict is Verdict.SAME]
    # If pairs of commits in between show a change in the same direction, they locate it more precisely.
    narrowest_ranges = [
        proof_range
        for proof_range in changed_ranges
        if not any(
            proof_range is not inner
            and proof_range.proof.environment == inner.proof.environment
            and proof_range.contains(inner)
            and proof_range.proof.goes_up == inner.proof.goes_up
            for inner in changed_ranges
        )
    ]
    settled_drifts: list[SeriesDrift] = []
    used_ranges: list[_ProofRange] = []
    for drift in drifts:
        for result, proof_range in _apply_proofs_to_drift(drift, drifts, [*narrowest_ranges, *refuting_ranges]):
            settled_drifts.append(result)
            if proof_range is not None:
                used_ranges.append(proof_range)
    # Pairs that differ become drifts of their own if no drift, in any environment, shows the same change.
    for proof_range in narrowest_ranges:
        ranges_of_change = [entry for entry in narrowest_ranges if entry.shows_same_change(proof_range)]
        is_shown = any(
            entry in used_ranges
            or any(entry.overlaps(drift) and _has_same_direction(entry, drift) for drift in settled_drifts)
            for entry in ranges_of_change
        )
        if not is_shown and not proof_range.is_elsewhere:
            new_drift = _make_drift(proof_range)
            if new_drift is not None:
                settled_drifts.append(new_drift)
    return sorted(settled_drifts, key=lambda drift: drift.up_to_position)


def are_changes_excluded(
    first_point: PathPoint, last_point: PathPoint, proofs: Iterable[Proof], points: Points
) -> bool:
    """Return whether pairs have excluded any change worth a comparison between two points of a level."""
    min_size = abs(first_point.value) * DEFAULT_RISE_PERCENT / 100
    return any(
        proof_range.proof.excludes(min_size) and proof_range.proof.environment == first_point.environment
        for proof_range in _locate_proofs(proofs, (points,))
        if proof_range.start_position <= first_point.position and last_point.position <= proof_range.end_position
    )


def _locate_proofs(proofs: Iterable[Proof], sequences: Iterable[Points]) -> list[_ProofRange]:
    """Return the proofs whose commits have points in one sequence, without those that a later proof replaces."""
    measured_sequences = [_build_sequence(points) for points in sequences]
    positions: dict[tuple[str, str], int] = {
        (point.revision, point.environment): point.position
        for sequence in measured_sequences
        for point in sequence.points
    }
    ranges_of_commits: dict[tuple[int, int, str], list[_ProofRange]] = defaultdict(list)
    proofs_in_order = sorted(proofs, key=lambda proof: proof.measured_at)
    for proof, is_elsewhere in _add_other_environments(proofs_in_order, measured_sequences):
        ends = (proof.base, proof.environment), (proof.head, proof.environment)
        sequences_of_proof = [entry for entry in measured_sequences if entry.measured_commits.issuperset(ends)]
        if not sequences_of_proof or proof.base == proof.head:
            continue  # the two commits are not on one sequence of the trend, or a commit was compared with itself
        base_position, head_position = (positions[end] for end in ends)
        if base_position > head_position:
            # The pairs compared a later commit with an earlier one: turn them round, to the direction of the history.
            proof = replace(  # noqa: PLW2901
                proof, base=proof.head, head=proof.base, before=proof.after, after=proof.before
            )
            base_position, head_position = head_position, base_position
        ranges = ranges_of_commits[base_position, head_position, proof.environment]
        if is_elsewhere and any(not entry.is_elsewhere for entry in ranges):
            continue  # the environment's own pairs decide there
        # Of pairs measured elsewhere, only the newest count, until the environment has pairs of its own.
        ranges[:] = [entry for entry in ranges if not entry.is_elsewhere and not proof.replaces(entry.proof)]
        ranges.append(_ProofRange(base_position, head_position, proof, sequences_of_proof, is_elsewhere))
    return list(chain.from_iterable(ranges_of_commits.values()))


def _add_other_environments(proofs: Iterable[Proof], sequences: Iterable[_Sequence]) -> Iterator[tuple[Proof, bool]]:
    """Yield each proof, and each proof that shows a change once more for every other environment with both commits.

    The second value is whether the environment of the proof is not that of its pairs. A change of the program that
    pairs prove in one environment confirms the same change in another one, which the host may no longer have.
    """
    measured_commits = frozenset(chain.from_iterable(sequence.measured_commits for sequence in sequences))
    environments = sorted({environment for _, environment in measured_commits})
    for proof in proofs:
        yield proof, False
        for environment in environments if proof.verdict is Verdict.CHANGED else ():
            if (
                environment != proof.environment
                and {(proof.base, environment), (proof.head, environment)} <= measured_commits
            ):
                yield replace(proof, environment=environment), True


def _build_sequence(points: Iterable[PathPoint]) -> _Sequence:
    """Return a sequence of a trend without its reused points, which were not measured."""
    measured_points = tuple(point for point in points if not point.is_reused)
    return _Sequence(measured_points, frozenset((point.revision, point.environment) for point in measured_points))


def _apply_proofs_to_drift(
    drift: SeriesDrift, drifts: Sequence[SeriesDrift], proof_ranges: Sequence[_ProofRange]
) -> Iterator[tuple[SeriesDrift, _ProofRange | None]]:
    """Yield the drifts that a drift becomes: its proven parts, the narrowed drift, or none if pairs refute it.

    Each is yielded with the range of the proof that confirms it, or None.
    """
    environment = drift.after.environment
    if drift.before.environment != environment:
        yield drift, None  # pairs in one environment say nothing about an environment change
        return
    proof_ranges = [proof_range for proof_range in proof_ranges if proof_range.proof.environment == environment]
    confirming_ranges = [
        proof_range
        for proof_range in proof_ranges
        if proof_range.proof.verdict is Verdict.CHANGED and _has_same_direction(proof_range, drift)
    ]
    size = abs(drift.change.after - drift.change.before)
    refuting_ranges = [proof_range for proof_range in proof_ranges if proof_range.proof.excludes(size)]
    contradicting_ranges = [
        proof_range
        for proof_range in proof_ranges
        if proof_range.proof.verdict is Verdict.CHANGED
        and proof_range not in confirming_ranges
        and not proof_range.is_elsewhere
    ] + refuting_ranges
    if drift.cause is Cause.COMMIT_AND_CONFIG:
        # Pairs in one environment show only what the commit changed. The rest is the configuration's.
        confirming_ranges = [entry for entry in confirming_ranges if _is_about_as_large(entry.proof, drift)]
        contradicting_ranges = refuting_ranges

    # If pairs within its range differ, each of their ranges becomes a drift of its own.
    inner_ranges = [proof_range for proof_range in confirming_ranges if proof_range.lies_within(drift)]
    if inner_ranges:
        for proof_range in inner_ranges:
            yield _build_proven_drift(drift, proof_range, is_whole=len(inner_ranges) == 1), proof_range
        return

    # If pairs whose range contains the drift differ, and this range overlaps no other drift, they prove it.
    outer_ranges = [
        proof_range
        for proof_range in confirming_ranges
        if proof_range.contains(drift) and _is_alone(drift, proof_range, drifts)
    ]
    if outer_ranges:
        proof_range = min(outer_ranges, key=lambda proof_range: proof_range.end_position - proof_range.start_position)
        yield (
            _build_proven_drift(drift, proof_range, is_whole=True)
            if drift.change.wants_rerun
            else _confirm_drift(drift, proof_range),
            proof_range,
        )
        return

    # If such pairs contradict the drift, a suspicion is dropped, and a certain drift loses its cause; if commits and
    # configuration were its cause, the configuration remains. Another drift of the same direction would only add to
    # the difference that the pairs do not show; one of the other direction could hide it.
    opposite_drifts = [other for other in drifts if other.goes_up != drift.goes_up]
    refuting_span = next(
        (
            proof_range
            for proof_range in contradicting_ranges
            if proof_range.contains(drift) and _is_alone(drift, proof_range, opposite_drifts)
        ),
        None,
    )
    if refuting_span is None:
        yield _narrow_drift(drift, [entry for entry in refuting_ranges if entry.overlaps(drift)]), None
    elif drift.cause is Cause.COMMIT_AND_CONFIG:
        evidence_clause = f"; {_describe_pair_count(refuting_span.proof)} do not show the change"
        yield replace(drift, cause=Cause.CONFIG, change=_append_evidence(drift.change, evidence_clause)), None
    elif not drift.change.wants_rerun:
        evidence_clause = f"; {_describe_pair_count(refuting_span.proof)} do not show the change"
        yield replace(drift, cause=Cause.UNKNOWN, change=_append_evidence(drift.change, evidence_clause)), None


def _has_same_direction(proof_range: _ProofRange, drift: SeriesDrift) -> bool:
    return proof_range.proof.goes_up == drift.goes_up


def _is_about_as_large(proof: Proof, drift: SeriesDrift) -> bool:
    """Return whether pairs show a change as large as that of a drift, within a twentieth or the noise."""
    size = abs(drift.change.after - drift.change.before)
    noise = 0 if drift.change.rule in REPEATING_RULES else drift.spread
    return abs(proof.size - size) <= max(noise, size / _SAME_SIZE_DIVISOR)


def _is_alone(drift: SeriesDrift, proof_range: _ProofRange, drifts: Sequence[SeriesDrift]) -> bool:
    """Return whether the range of a proof overlaps no drift other than ``drift``."""
    return not any(other is not drift and proof_range.overlaps(other) for other in drifts)


def _append_evidence(change: LevelChange, clause: str) -> LevelChange:
    return replace(change, evidence=change.evidence + clause)


def _confirm_drift(drift: SeriesDrift, proof_range: _ProofRange) -> SeriesDrift:
    """Return a drift that pairs have proven, so that it is no longer in doubt."""
    change = _append_evidence(drift.change, f"; {_describe_pairs(proof_range.proof)}")
    return replace(drift, change=replace(change, wants_rerun=False), pairs=proof_range.proof.pairs)


def _describe_pairs(proof: Proof) -> str:
    change = format_change(proof.before, proof.after)
    return f"{_describe_pair_count(proof)} show the change {change}"


def _describe_pair_count(proof: Proof) -> str:
    return f"{proof.pairs} interleaved pairs of {proof.base[:SHORT_HASH_DIGITS]} and {proof.head[:SHORT_HASH_DIGITS]}"


def _build_proven_drift(drift: SeriesDrift, proof_range: _ProofRange, *, is_whole: bool) -> SeriesDrift:
    """Return a proven drift, located between the two commits that its pairs compared.

    Parameters
    ----------
    is_whole
        Whether no other pairs prove a part of the drift, so that its levels are those of its runs.
    """
    proof = proof_range.proof
    change = replace(_append_evidence(drift.change, f"; {_describe_pairs(proof)}"), wants_rerun=False)
    if drift.change.wants_rerun:
        change = replace(change, rule="paired", evidence=_describe_pairs(proof))
    if not is_whole:
        change = replace(change, before=proof.before, after=proof.after)
    old, new = _split_points(drift.old_points + drift.new_points, proof_range)
    return replace(
        drift,
        old_points=old or drift.old_points,
        new_points=new or drift.new_points,
        cause=Cause.COMMIT,
        after_position=proof_range.start_position,
        up_to_position=proof_range.end_position,
        outer_revisions=(proof.base, proof.head),
        outer_environments=(proof.environment, proof.environment),
        change=change,
        pairs=proof.pairs,
    )


def _split_points(points: Points, proof_range: _ProofRange) -> tuple[Points, Points]:
    """Return the points up to the older commit of a proof, and those from the newer one on, in its environment."""
    points_in_environment = sorted(
        (point for point in points if point.environment == proof_range.proof.environment), key=_get_position
    )
    return (
        tuple(point for point in points_in_environment if point.position <= proof_range.start_position),
        tuple(point for point in points_in_environment if point.position >= proof_range.end_position),
    )


def _get_position(point: PathPoint) -> tuple[int, datetime]:
    return point.position, point.measured_at


def _narrow_drift(drift: SeriesDrift, refuting_ranges: Sequence[_ProofRange]) -> SeriesDrift:
    """Return a drift without the ends of its range in which pairs have shown no difference.

    Each proof that overlaps an end cuts off this part, until no proof overlaps an end any more.
    """
    start, end = drift.after_position, drift.up_to_position
    last_good, first_bad = drift.outer_revisions
    while True:
        range_over_start = next(
            (
                proof_range
                for proof_range in refuting_ranges
                if proof_range.start_position <= start < proof_range.end_position < end
            ),
            None,
        )
        range_over_end = next(
            (
                proof_range
                for proof_range in refuting_ranges
                if start < proof_range.start_position < end <= proof_range.end_position
            ),
            None,
        )
        if range_over_start:
            start, last_good = range_over_start.end_position, range_over_start.proof.head
        elif range_over_end:
            end, first_bad = range_over_end.start_position, range_over_end.proof.base
        else:
            return replace(drift, after_position=start, up_to_position=end, outer_revisions=(last_good, first_bad))


def _make_drift(proof_range: _ProofRange) -> SeriesDrift | None:
    """Return a drift for pairs that differ where the runs show no change; None if a side has no runs."""
    proof = proof_range.proof
    any_sequence, *_ = proof_range.sequences  # each of them contains both commits
    old, new = _split_points(any_sequence.points, proof_range)
    if not old or not new:
        return None
    evidence = _describe_pairs(proof)
    first_new_index = len(old)  # the points before the change come first
    change = LevelChange(
        index=first_new_index,
        before=proof.before,
        after=proof.after,
        low=first_new_index,
        high=first_new_index,
        rule="paired",
        evidence=evidence,
    )
    return SeriesDrift(
        old_points=old,
        new_points=new,
        cause=Cause.COMMIT,
        after_position=proof_range.start_position,
        up_to_position=proof_range.end_position,
        outer_revisions=(proof.base, proof.head),
        outer_environments=(proof.environment, proof.environment),
        change=change,
        pairs=proof.pairs,
    )
