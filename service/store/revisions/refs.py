"""The tags and branches of subjects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from runner import contract
from service.rules.series import candidate_commits
from service.store.models import RefRow, Revision, Series, Subject
from service.store.revisions import revisions


def store_refs(session: Session, subject_id: int, refs: Iterable[contract.Ref]) -> None:
    """Store tags and branches that are new or point to another commit now; the others are kept.

    A branch is rewritten if it moves to a commit that does not descend from the former one. While this is unknown,
    because commits between the two are unknown, the former commit is kept as ``left`` and counts as a branch, too.
    """
    stored_rows = {
        (row.kind, row.name): row for row in session.scalars(select(RefRow).where(RefRow.subject_id == subject_id))
    }
    sent_commits = {(ref.kind, ref.name): ref.commit for ref in refs}
    new_rows = [
        {"subject_id": subject_id, "kind": kind, "name": name, "commit": commit}
        for (kind, name), commit in sent_commits.items()
        if (kind, name) not in stored_rows
    ]
    if new_rows:
        session.execute(insert(RefRow), new_rows)
    moved_commits: dict[tuple[str, str], str] = {
        key: commit for key, commit in sent_commits.items() if key in stored_rows and stored_rows[key].commit != commit
    }
    # The refs that moved now, and those that moved earlier without it being known whether they were rewritten.
    unsettled_rows = {key: row for key, row in stored_rows.items() if key in moved_commits or row.left is not None}
    if not unsettled_rows:
        return
    parents = revisions.map_parents(session, subject_id)
    is_any_rewritten = False
    for key, row in unsettled_rows.items():
        commit = moved_commits.get(key, row.commit)
        former_commit = row.left or (row.commit if row.commit in parents else None)
        # None means that it is unknown whether the branch has grown or was rewritten.
        is_descendant = candidate_commits.find_descent(parents, commit, former_commit) if former_commit else None
        if is_descendant is False:
            is_any_rewritten = True
        values = {"commit": commit, "left": former_commit if is_descendant is None else None}
        session.execute(update(RefRow).where(RefRow.id == row.id).values(values))
    if is_any_rewritten:  # commits of a rewritten branch leave the paths of the series
        is_of_subject = Series.subject_id == subject_id
        session.execute(update(Series).where(is_of_subject).values(version=Series.version + 1))


def list_refs(session: Session, subject: str | None = None, limit: int = 500) -> list[RefRow]:
    """Return the tags, then the branches, of a subject or of all subjects; both sorted by commit, newest first."""
    query = (
        select(RefRow)
        .join(Revision, (Revision.subject_id == RefRow.subject_id) & (Revision.commit == RefRow.commit))
        .order_by(RefRow.kind.desc(), Revision.committed_at.desc(), RefRow.name)
        .limit(limit)
    )
    if subject is not None:
        query = query.join(Subject, RefRow.subject_id == Subject.id).where(Subject.name == subject)
    return list(session.scalars(query))


class NamedRef(NamedTuple):
    """A tag or a branch of a subject."""

    subject: str
    kind: str
    name: str
    commit: str


def list_refs_by_subject(session: Session, subject: str | None = None, limit: int = 500) -> list[NamedRef]:
    """Return the tags and branches of a subject or of all, with their subjects, in the order of :func:`list_refs`."""
    names = {row.id: row.name for row in session.execute(select(Subject.id, Subject.name))}
    return [
        NamedRef(names[row.subject_id], row.kind, row.name, row.commit) for row in list_refs(session, subject, limit)
    ]
