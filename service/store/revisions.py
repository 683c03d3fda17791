"""The commits of a subject, in the order of its history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from runner import contract
from service.store import known
from service.store.models import Revision, Series, Subject
from service.topology import Commit, in_history_order


def add(session: Session, subject: Subject, revisions: Iterable[contract.Revision]) -> None:
    """Store the commits that are new, and put all commits of the subject in order again."""
    stored = {row.commit: row for row in in_order(session, subject)}
    changed = False
    for revision in revisions:
        row = stored.get(revision.commit)
        if row is None:
            row = stored[revision.commit] = _row(subject, revision)
            session.add(row)
            changed = True
        elif _knows_more(revision, row):
            row.parents = list(revision.parents)
            changed = True
    if changed:
        _put_in_order(session, subject, list(stored.values()))


def ensure(session: Session, subject: Subject, revision: contract.Revision) -> Revision:
    """Return the row of a commit, which is stored first where it is not known yet."""
    row = _find(session, subject, revision.commit)
    if row is None or _knows_more(revision, row):
        add(session, subject, [revision])
        row = _find(session, subject, revision.commit)
        assert row is not None
    return row


def in_order(session: Session, subject: Subject) -> Sequence[Revision]:
    """Return the commits of a subject, oldest first."""
    return session.scalars(select(Revision).where(Revision.subject_id == subject.id).order_by(Revision.position)).all()


def positions(session: Session, subject: str) -> dict[str, int]:
    """Return the place of each commit of a subject in its history."""
    placed = select(Revision.commit, Revision.position).join(Subject, Revision.subject_id == Subject.id)
    return dict(session.execute(placed.where(Subject.name == subject)).all())


def listed(session: Session, subject: str) -> contract.RevisionList | None:
    """Return the commits of a subject as they were sent, oldest first; None where there is no such subject."""
    row = known.find_subject(session, subject)
    if row is None:
        return None
    return contract.RevisionList(
        revisions=tuple(
            contract.Revision(
                commit=revision.commit,
                parents=tuple(revision.parents),
                author=revision.author,
                committed_at=revision.committed_at,
                title=revision.title,
            )
            for revision in in_order(session, row)
        )
    )


def _find(session: Session, subject: Subject, commit: str) -> Revision | None:
    return session.scalar(select(Revision).where(Revision.subject_id == subject.id, Revision.commit == commit))


def _knows_more(revision: contract.Revision, row: Revision) -> bool:
    """Tell whether a commit was stored from a clone that was cut off there."""
    return bool(revision.parents) and not row.parents


def _row(subject: Subject, revision: contract.Revision) -> Revision:
    return Revision(
        subject_id=subject.id,
        commit=revision.commit,
        parents=list(revision.parents),
        author=revision.author,
        committed_at=revision.committed_at,
        title=revision.title,
        position=-1,
    )


def _put_in_order(session: Session, subject: Subject, rows: Sequence[Revision]) -> None:
    """Give each commit its position. Where one that had a position moves, its series have to be judged again."""
    order = in_history_order(Commit(row.commit, tuple(row.parents), row.committed_at) for row in rows)
    positions = {commit: position for position, commit in enumerate(order)}
    moved = any(row.position not in {-1, positions[row.commit]} for row in rows)
    for row in rows:
        row.position = positions[row.commit]
    session.flush()
    if moved:
        session.execute(
            update(Series)
            .where(Series.subject_id == subject.id)
            .values(version=Series.version + 1)
            .execution_options(synchronize_session=False)
        )
