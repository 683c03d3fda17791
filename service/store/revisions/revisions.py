"""The commits of a subject, in the order of its history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Text, bindparam, cast, func, insert, select, update
from sqlalchemy.orm import Session

from runner import contract
from service.rules.series import candidate_commits
from service.rules.series.commit_order import Commit, order_continuation, sort_commits_by_history
from service.schemas.history import Candidate, ListedRevision, RevisionPage
from service.store import newest_levels, shared_rows
from service.store.engine import bulk
from service.store.models import Revision, Series, Subject

_COMMITS_PER_QUERY = 500
"""At most this many commits per query, because SQLite limits the number of parameters."""
_NO_POSITION = -1
"""The position of a stored commit that has not been sorted yet."""


class _StoredCommit(NamedTuple):
    """The columns of a stored commit that determine its position."""

    id: int
    parents: tuple[str, ...]
    committed_at: datetime
    position: int


def add_commits(session: Session, subject_id: int, revisions: Iterable[contract.Revision]) -> None:
    """Store the commits that are new, and update the order of all commits of the subject."""
    sent_revisions = _index_commits_by_hash(revisions)
    _store_missing_commits(
        session, subject_id, sent_revisions, _map_stored_commits(session, subject_id, sent_revisions)
    )


def ensure_commits(
    session: Session, subject_id: int, revisions: Iterable[contract.Revision]
) -> dict[str, tuple[int, int]]:
    """Return the id and the position of commits, by hash; store the missing ones first."""
    sent_revisions = _index_commits_by_hash(revisions)
    stored_rows = _map_stored_commits(session, subject_id, sent_revisions)
    if _store_missing_commits(session, subject_id, sent_revisions, stored_rows):
        stored_rows = _map_stored_commits(session, subject_id, sent_revisions)
    return {commit: (row.id, row.position) for commit, row in stored_rows.items()}


def _index_commits_by_hash(revisions: Iterable[contract.Revision]) -> dict[str, contract.Revision]:
    """Return commits by hash; if several have the same hash, the first one counts."""
    revision_by_hash: dict[str, contract.Revision] = {}
    for revision in revisions:
        revision_by_hash.setdefault(revision.commit, revision)
    return revision_by_hash


def _store_missing_commits(
    session: Session,
    subject_id: int,
    sent_revisions: dict[str, contract.Revision],
    stored_rows: Mapping[str, _StoredCommit],
) -> bool:
    """Store the missing commits, and parents that stored commits lack; return whether anything changed."""
    rows = [_build_row(subject_id, sent_revisions[commit]) for commit in sent_revisions if commit not in stored_rows]
    parent_updates = [
        {"row": stored_rows[commit].id, "sent": list(revision.parents)}
        for commit, revision in sent_revisions.items()
        if commit in stored_rows and revision.parents and not stored_rows[commit].parents
    ]
    # New commits that continue the history take the next positions; no other commit moves.
    continuation = _order_continuation(session, subject_id, rows) if rows and not parent_updates else None
    if continuation is not None:
        first_position, order = continuation
        positions = {commit: first_position + number for number, commit in enumerate(order)}
        session.execute(insert(Revision), [row | {"position": positions[row["commit"]]} for row in rows])
        return True
    if rows:
        session.execute(insert(Revision), rows)
    if parent_updates:  # they were stored from a shallow clone that lacked their parents
        set_parents = update(Revision).where(Revision.id == bindparam("row")).values(parents=bindparam("sent"))
        session.connection().execute(set_parents, parent_updates)
        _mark_series_stale(session, subject_id)  # the new parents may decide which commits are on a branch
    if rows or parent_updates:
        _update_positions(session, subject_id)
    return bool(rows or parent_updates)


def store_patches(session: Session, subject_id: int, patches: Mapping[str, str]) -> None:
    """Store the patch ids of known commits that have none yet."""
    if patches:
        is_without_patch = (
            (Revision.subject_id == subject_id) & (Revision.commit == bindparam("of")) & (Revision.patch == "")
        )
        rows = [{"of": commit, "sent": patch} for commit, patch in patches.items()]
        session.connection().execute(update(Revision).where(is_without_patch).values(patch=bindparam("sent")), rows)


def count_commits(session: Session, subject_id: int) -> int:
    """Return how many commits of a subject are stored."""
    return session.scalar(select(func.count()).where(Revision.subject_id == subject_id)) or 0


def map_parents(session: Session, subject_id: int, first_position: int | None = None) -> dict[str, list[str]]:
    """Return the parents of each commit of a subject in the order of the history; optionally from a position on."""
    conditions = [Revision.subject_id == subject_id]
    if first_position is not None:
        conditions.append(Revision.position >= first_position)
    return _read_parents(session, *conditions)


def _read_parents(session: Session, *conditions: ColumnElement[bool]) -> dict[str, list[str]]:
    """Return the parents of the selected commits; they are parsed all at once, because a history has thousands."""
    query = select(Revision.commit, cast(Revision.parents, Text)).where(*conditions).order_by(Revision.position)
    rows = session.connection().execute(query).all()
    parsed = json.loads(f"[{','.join([parents_text for _commit, parents_text in rows])}]")
    return {commit: parents for (commit, _parents_text), parents in zip(rows, parsed, strict=True)}


def is_descendant(session: Session, subject: str, older: str, newer: str) -> bool:
    """Return whether ``newer`` is known to descend from ``older``."""
    row = shared_rows.find_subject(session, subject)
    if row is None:
        return False
    is_of_subject = Revision.subject_id == row.id
    ends = select(Revision.commit, Revision.position).where(is_of_subject, Revision.commit.in_([older, newer]))
    positions = dict(session.execute(ends).all())
    if len(positions) < 2:
        return False
    # Parents come before their children, so all commits between the two lie within this range.
    between_ends = Revision.position.between(positions[older], positions[newer])
    return candidate_commits.is_ancestor(_read_parents(session, is_of_subject, between_ends), newer, older)


def list_candidates(session: Session, subject_id: int, commits: Iterable[str]) -> list[Candidate]:
    """Return commits as candidates of a drift, in the order of the history."""
    rows = [
        row
        for chunk in bulk.split_into_chunks(sorted(commits), _COMMITS_PER_QUERY)
        for row in session.scalars(
            select(Revision).where(Revision.subject_id == subject_id, Revision.commit.in_(chunk))
        )
    ]
    rows.sort(key=lambda row: row.position)
    return _build_candidates(rows)


def list_newest_commits(session: Session, subject: str, limit: int) -> list[Candidate]:
    """Return the newest commits of a subject, newest first."""
    query = select(Revision).join(Subject, Revision.subject_id == Subject.id).where(Subject.name == subject)
    return _build_candidates(session.scalars(query.order_by(Revision.position.desc()).limit(limit)))


def _build_candidates(rows: Iterable[Revision]) -> list[Candidate]:
    return [Candidate(commit=row.commit, title=row.title, author=row.author) for row in rows]


def map_positions(session: Session, subject: str) -> dict[str, int]:
    """Return the position of each commit of a subject in its history."""
    query = select(Revision.commit, Revision.position).join(Subject, Revision.subject_id == Subject.id)
    return dict(session.execute(query.where(Subject.name == subject)).all())


def list_page(session: Session, subject: str, limit: int, offset: int) -> RevisionPage | None:
    """Return a page of the commits of a subject, the newest first; None if there is no such subject."""
    row = shared_rows.find_subject(session, subject)
    if row is None:
        return None
    query = select(Revision).where(Revision.subject_id == row.id).order_by(Revision.position.desc())
    items = [
        ListedRevision(
            commit=revision.commit,
            parents=tuple(revision.parents),
            author=revision.author,
            committed_at=revision.committed_at,
            title=revision.title,
            patch=revision.patch,
        )
        for revision in session.scalars(query.limit(limit).offset(offset))
    ]
    return RevisionPage(items=items, total=count_commits(session, row.id), limit=limit, offset=offset)


def _map_stored_commits(
    session: Session, subject_id: int, commits: Iterable[str] | None = None
) -> dict[str, _StoredCommit]:
    """Return those of the given commits that are stored, or all stored ones (None), by hash."""
    query = select(Revision.commit, Revision.id, Revision.parents, Revision.committed_at, Revision.position).where(
        Revision.subject_id == subject_id
    )
    queries = [query]
    if commits is not None:
        chunks = bulk.split_into_chunks(commits, _COMMITS_PER_QUERY)
        queries = [query.where(Revision.commit.in_(chunk)) for chunk in chunks]
    return {
        commit: _StoredCommit(number, tuple(parents), committed_at, position)
        for query_of_chunk in queries
        for commit, number, parents, committed_at, position in session.connection().execute(query_of_chunk)
    }


def _order_continuation(
    session: Session, subject_id: int, rows: Sequence[dict[str, Any]]
) -> tuple[int, list[str]] | None:
    """Return the position of the first new commit, and all new commits in order, if they continue the history.

    None if their order depends on the whole history. Most new commits are children of the newest one; sorting a history
    of thousands again for each of them would take longer than everything else that a report needs.
    """
    is_of_subject = Revision.subject_id == subject_id
    tip_query = (
        select(Revision.commit, Revision.position).where(is_of_subject).order_by(Revision.position.desc()).limit(1)
    )
    tip = session.execute(tip_query).first()
    if tip is None:
        return None
    entries = [Commit(row["commit"], tuple(row["parents"]), row["committed_at"]) for row in rows]
    order = order_continuation(tip.commit, entries)
    if order is None:
        return None
    # This order is valid only if no stored commit is a child of a new one. All parents are read as a single text,
    # because finding a hash in a text is much faster than parsing thousands of lists.
    parents = (
        session.scalar(select(func.aggregate_strings(cast(Revision.parents, Text), "")).where(is_of_subject)) or ""
    )
    return None if any(commit in parents for commit in order) else (tip.position + 1, order)


def _build_row(subject_id: int, revision: contract.Revision) -> dict[str, Any]:
    """Return the row of a new commit, without its position, which is not known yet."""
    return {
        "subject_id": subject_id,
        "commit": revision.commit,
        "parents": list(revision.parents),
        "author": revision.author,
        "committed_at": revision.committed_at,
        "title": revision.title,
        "position": _NO_POSITION,
    }


def _update_positions(session: Session, subject_id: int) -> None:
    """Set the position of each commit.

    If a commit that already had a position moves, mark the series to be judged again; if such commits change their
    order, also recompute the newest levels.
    """
    stored_rows = _map_stored_commits(session, subject_id)
    order = sort_commits_by_history(
        Commit(commit, row.parents, row.committed_at) for commit, row in stored_rows.items()
    )
    rows_with_positions = [(stored_rows[commit], position) for position, commit in enumerate(order)]
    new_positions = [
        {"row": row.id, "to": position} for row, position in rows_with_positions if row.position != position
    ]
    if new_positions:
        statement = update(Revision).where(Revision.id == bindparam("row")).values(position=bindparam("to"))
        session.connection().execute(statement, new_positions)
    # If the order of these commits changes, another commit may be the newest with a level.
    former_positions = [row.position for row, _ in rows_with_positions if row.position != _NO_POSITION]
    if former_positions != sorted(former_positions):
        newest_levels.recompute_newest_levels(session, subject_id)
    if any(row.position not in {_NO_POSITION, position} for row, position in rows_with_positions):
        _mark_series_stale(session, subject_id)


def _mark_series_stale(session: Session, subject_id: int) -> None:
    """Mark all series of a subject to be judged again."""
    session.execute(
        update(Series)
        .where(Series.subject_id == subject_id)
        .values(version=Series.version + 1)
        .execution_options(synchronize_session=False)
    )
