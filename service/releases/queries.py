"""Reads what changed between two commits of a subject: the levels of its series at both, and the drifts in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Outcome
from service.releases.rules.decomposition import EventOfDrift, decompose_change, is_between
from service.releases.schemas import ReleaseChange, Releases, ReleaseSide
from service.rules.relative_change import compute_change_rank
from service.rules.series.candidate_commits import are_connected, list_commits_between
from service.schemas.history import Drift, Number
from service.store.engine import bulk
from service.store.models import DriftRow, Event, Point, Revision, Run, Series, Subject
from service.store.revisions import revisions
from service.store.revisions.named_commits import NamedCommit
from service.store.series.points import IS_ON_TREND, SERIES_OF_RUN

_MAX_NEAREST_COMMITS = 20
"""A level is looked for among so many measured commits up to a release, because not each measures all cases."""
_MAX_EARLIER_COMMITS = 5 * _MAX_NEAREST_COMMITS
"""These commits are looked for among so many measured ones in the order of the history: some are on other branches."""
_DRIFTS_PER_QUERY = 500


def compare_releases(session: Session, base: tuple[str, NamedCommit], head: tuple[str, NamedCommit]) -> Releases:
    """Return what changed between two commits of a subject, each given by its name in the address and its commit."""
    # Read the commits between the two, and the levels of the series at both.
    base_name, base_commit = base
    head_name, head_commit = head
    subject_id = session.scalars(select(Subject.id).where(Subject.name == head_commit.subject)).one()
    parents = revisions.map_parents(session, subject_id)
    are_releases_connected = are_connected(parents, base_commit.commit, head_commit.commit)
    if not are_releases_connected:
        parents = _map_previous_commits(session, subject_id)
    commits_between = list_commits_between(parents, base_commit.commit, head_commit.commit)
    base_levels, measured_base = _read_levels(session, subject_id, parents, base_commit.commit, newest=False)
    head_levels, measured_head = _read_levels(session, subject_id, parents, head_commit.commit, newest=True)
    # Read the drifts between the two, by series.
    drifts = [
        drift for drift in _read_drifts(session, subject_id) if is_between(drift, commits_between, base_commit.commit)
    ]
    events = _map_events(session, [drift.id for drift in drifts])
    drifts_by_series: dict[int, list[tuple[Drift, EventOfDrift | None]]] = {}
    for drift in drifts:
        drifts_by_series.setdefault(drift.series_id, []).append((drift, events.get(drift.id)))
    changes = [
        decompose_change((base_levels[series_id], head_levels[series_id]), drifts_of_series)
        for series_id, drifts_of_series in drifts_by_series.items()
        if series_id in base_levels and series_id in head_levels
    ]
    return Releases(
        subject=head_commit.subject,
        base=ReleaseSide(name=base_name, commit=base_commit.commit, title=base_commit.title, measured=measured_base),
        head=ReleaseSide(name=head_name, commit=head_commit.commit, title=head_commit.title, measured=measured_head),
        commits=len(commits_between),
        connected=are_releases_connected,
        changes=sorted(changes, key=_rank_change),
        unchanged=len((base_levels.keys() & head_levels.keys()) - drifts_by_series.keys()),
    )


def _map_previous_commits(session: Session, subject_id: int) -> dict[str, list[str]]:
    """Return a linear history: for each commit, the one before it in the order of the history as its only parent."""
    query = select(Revision.commit).where(Revision.subject_id == subject_id).order_by(Revision.position)
    commits = session.scalars(query).all()
    return {commit: [before] if before else [] for before, commit in pairwise(["", *commits])}


def _rank_change(change: ReleaseChange) -> tuple[int, float, str, str, str]:
    """Return the sort key: certain changes, undecided ones, those without a net change.

    Of each kind, the largest relative change comes first; a change from zero is the largest.
    """
    size = compute_change_rank(change.change, change.before) if change.change else 0.0
    kind = 2 if not change.change else int(change.undecided)
    return kind, -size, change.case, change.host, change.metric


def _read_levels(
    session: Session, subject_id: int, parents: Mapping[str, Sequence[str]], commit: str, *, newest: bool
) -> tuple[dict[int, Number], str | None]:
    """Return the level of each judged series at a commit, and the newest measured commit that it contains.

    A series without a level at the commit has that of its nearest measured ancestor.

    Parameters
    ----------
    newest
        Whether the newest or the oldest of several runs of a commit counts. So a configuration change that was measured
        at one of the releases lies between them.
    """
    contained_commits = list_commits_between(parents, "", commit)  # without a lower end: the whole history
    position = select(Revision.position).where(Revision.subject_id == subject_id, Revision.commit == commit)
    measured_revisions = session.execute(
        select(Revision.id, Revision.commit)
        .where(Revision.subject_id == subject_id, Revision.position <= position.scalar_subquery())
        .where(
            select(Run.number)
            .where(Run.revision_id == Revision.id, Run.outcome == Outcome.MEASURED, IS_ON_TREND)
            .exists()
        )
        .order_by(Revision.position.desc())
        .limit(_MAX_EARLIER_COMMITS)
    ).all()
    nearest_revisions = [row for row in measured_revisions if row.commit in contained_commits][:_MAX_NEAREST_COMMITS]
    rows = session.execute(
        select(Point.series_id, Run.revision_id, Run.started_at, Point.value)
        .select_from(Run)
        .join(Series, SERIES_OF_RUN)
        .join(Point, (Point.series_id == Series.id) & (Point.run_number == Run.number))
        .where(Run.revision_id.in_([row.id for row in nearest_revisions]), IS_ON_TREND, Series.judged)
        .order_by(Run.started_at if newest else Run.started_at.desc())
    ).all()
    # The nearest commit counts, and of its runs the last one in the order of the rows.
    distance_of_revision = {row.id: index for index, row in enumerate(nearest_revisions)}
    levels: dict[int, Number] = {}
    distance_of_level: dict[int, int] = {}
    for series_id, revision_id, _, value in rows:
        distance = distance_of_revision[revision_id]
        if value is not None and distance <= distance_of_level.get(series_id, distance):
            levels[series_id] = value
            distance_of_level[series_id] = distance
    return levels, nearest_revisions[0].commit if nearest_revisions else None


def _read_drifts(session: Session, subject_id: int) -> list[Drift]:
    """Return all drifts of a subject's judged series, in the order of the history."""
    rows = session.scalars(
        select(DriftRow.document)
        .join(Series, DriftRow.series_id == Series.id)
        .where(Series.subject_id == subject_id, Series.judged)
        .order_by(DriftRow.position, DriftRow.id)
    )
    return [Drift.model_validate(document) for document in rows]


def _map_events(session: Session, drift_ids: Sequence[str]) -> dict[str, EventOfDrift]:
    """Return the event of each drift, with the commits that a bisect has proven, by the drift's id."""
    events: dict[str, EventOfDrift] = {}
    for chunk in bulk.split_into_chunks(drift_ids, _DRIFTS_PER_QUERY):
        rows = session.execute(
            select(DriftRow.id, Event.id, Event.document)
            .join(Event, DriftRow.event_id == Event.id)
            .where(DriftRow.id.in_(chunk))
        )
        for drift_id, event_id, document in rows:
            culprits = tuple(entry["commit"] for entry in document.get("culprits", ()))
            events[drift_id] = EventOfDrift(event_id, culprits, document.get("blamed", ""))
    return events
