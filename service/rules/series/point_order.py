"""Arranges the points of a series in the order in which they can be judged.

The points of one environment form a *track*, in the order of the commits. The *path* leads from track to track at
revisions that were measured in both, so that neighbours on it differ in the revision or in the environment, but not in
both. See docs/explanation/architecture.md, "How a series is judged".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from service.rules.same_bytes import UNKNOWN, ProgramBytes
from service.schemas.history import Number


@dataclass(frozen=True, slots=True)
class PathPoint:
    """The level of one run, with the fields that determine its position in the trend."""

    run_id: UUID
    revision: str
    position: int
    environment: str
    measured_at: datetime
    value: Number
    samples: tuple[Number, ...]
    program_bytes: ProgramBytes = UNKNOWN
    is_reused: bool = False
    """Whether its counts are reused from a run with the same bytes: it was not measured, so it is not evidence."""


Points = tuple[PathPoint, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """The arranged points of a series.

    Attributes
    ----------
    path
        The sequence along which the trend is drawn.
    points_beside
        Further sequences to judge, because they contain points or comparisons that are not on the path.
    former_points
        Points of branches that were rewritten since; they are not judged.
    stand_ins
        For environments of a pool, the equivalent environments that replace them; in the points, they are already
        replaced.
    """

    path: Points
    points_beside: tuple[Points, ...]
    former_points: Points = ()
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> Points:
        """The measured points of all sequences, each once; reused points are not evidence."""
        trend_points = (point for sequence in (self.path, *self.points_beside) for point in sequence)
        return tuple({point.run_id: point for point in trend_points if not point.is_reused}.values())


def arrange_trend(points: Iterable[PathPoint]) -> Trend:
    """Arrange the points of one series; the result does not depend on the order of ``points``.

    A track holds the points of one environment. The path leads from track to track; a detour is a sequence that leads
    from the path to a track that the path does not reach.
    """
    tracks = _group_points_into_tracks(points)
    if not tracks:
        return Trend((), ())
    path = tracks[0]
    detours = []
    for track in tracks[1:]:
        path, detour = _join_track_at_anchor(path, track)
        if detour:
            detours.append(detour)
    run_ids_on_path = {point.run_id for point in path}
    tracks_off_path = [track for track in tracks if any(point.run_id not in run_ids_on_path for point in track)]
    return Trend(path, (*detours, *tracks_off_path))


def _group_points_into_tracks(points: Iterable[PathPoint]) -> list[Points]:
    """Group the points by environment in order of first measurement; sort each group by commit, then by time."""
    tracks: dict[str, list[PathPoint]] = {}
    for point in sorted(points, key=lambda point: (point.measured_at, point.environment, point.run_id)):
        tracks.setdefault(point.environment, []).append(point)
    return [tuple(sorted(track, key=lambda point: point.position)) for track in tracks.values()]


def _join_track_at_anchor(path: Points, track: Points) -> tuple[Points, Points]:
    """Extend the path to the track of a newer environment, at the newest revision that both contain.

    Return the path, and if the path does not lead to the track, the sequence that does.
    """
    shared_positions = {point.position for point in path} & {point.position for point in track}
    if not shared_positions:
        return _join_track_without_anchor(path, track)
    first_shared, anchor, last_on_track = min(shared_positions), max(shared_positions), track[-1].position
    bridged_path = _cut_points_up_to(path, anchor) + _cut_points_from(track, anchor)
    if path[-1].position <= last_on_track:
        return bridged_path, ()
    # The path goes on beyond the end of the track. If the older environment was used again afterwards, the path leads
    # over to the track and back; this takes two shared revisions, between which it follows the track.
    if _has_returned(path, track) and first_shared < anchor:
        up_to_anchor = tuple(point for point in track if first_shared <= point.position <= anchor)
        return _cut_points_up_to(path, first_shared) + up_to_anchor + _cut_points_from(path, anchor), ()
    return path, bridged_path


def _join_track_without_anchor(path: Points, track: Points) -> tuple[Points, Points]:
    """Join a track that shares no revision with the path: at the joint, revision and environment both differ.

    Return the same as :func:`_join_track_at_anchor`.
    """
    if track[-1].position < path[0].position:
        return track + path, ()
    bridged_path = _cut_points_up_to(path, track[0].position) + track
    return (bridged_path, ()) if path[-1].position < track[-1].position else (path, bridged_path)


def _has_returned(path: Points, track: Points) -> bool:
    """Return whether later commits were measured in the older environment after the newer one was seen."""
    first_seen_at = min(point.measured_at for point in track)
    return any(point.measured_at > first_seen_at for point in path if point.position > track[-1].position)


def _cut_points_up_to(points: Sequence[PathPoint], position: int) -> Points:
    return tuple(point for point in points if point.position <= position)


def _cut_points_from(points: Sequence[PathPoint], position: int) -> Points:
    return tuple(point for point in points if point.position >= position)
