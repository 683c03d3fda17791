"""The commits that people name by a tag, a branch, a part of a hash or a date."""

from __future__ import annotations

import re
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from runner.contract import Outcome
from service.rules.series import commit_name_syntax
from service.store.models import RefRow, Revision, Run, Subject
from service.store.revisions import revisions

_HASH = re.compile("[0-9a-f]{4,64}")
_MAX_COMMITS = 5
"""At most this many commits are returned for a text, which is ambiguous if there are two or more."""


class NamedCommit(NamedTuple):
    """A commit that a text names."""

    commit: str
    title: str
    subject: str
    committed_at: datetime


def match_commit(text: str) -> ColumnElement[bool]:
    """Return the condition that a hash begins with a text of at least four digits; other texts match no hash."""
    if not _HASH.fullmatch(text.lower()):
        return Revision.commit == text
    # LIKE is not used: it ignores the case of letters, so SQLite would read every commit for it.
    return and_(Revision.commit >= text.lower(), Revision.commit < f"{text.lower()}g")


def find_commits(session: Session, text: str, subject: str | None = None) -> list[NamedCommit]:
    """Return the known commits that a text can name: by a tag or a branch, a part of a hash, or a date.

    A name or a hash may be followed by ``~20`` or ``^2``, as in git. A tag or a branch takes precedence over a hash
    that begins with the same text; a date names the newest measured commit of this day or before.
    """
    revision = commit_name_syntax.parse_revision(text)
    starts = _find_commits_by_ref(session, revision.name, subject)
    if not starts:
        starts = _find_commits_by_hash(session, revision.name, subject)
    if revision.steps:
        ends = [_follow_steps(session, start, revision.steps) for start in starts]
        return [end for end in ends if end is not None]
    return starts or _find_commits_by_date(session, revision.name, subject)


def describe_first_commit(session: Session, text: str, subject: str | None = None) -> str:
    """Return a sentence on the first commit of a subject, or of all, if a text is a date before it; otherwise empty."""
    moment = commit_name_syntax.parse_time_or_day(commit_name_syntax.parse_revision(text).name)
    if moment is None:
        return ""
    query = select(func.min(Revision.committed_at)).join(Subject, Revision.subject_id == Subject.id)
    first_moment = session.scalar(query.where(Subject.name == subject) if subject else query)
    if first_moment is None or first_moment < moment:
        return ""
    return f"The first commit{f' of {subject}' if subject else ''} is from {first_moment:%Y-%m-%d}."


def list_newest_measured_commits(session: Session, subject: str, limit: int) -> list[NamedCommit]:
    """Return the newest commits of a subject's history that were measured, the newest first."""
    query = _select_commits(subject).where(_is_measured())
    return [NamedCommit(*row) for row in session.execute(query.order_by(Revision.position.desc()).limit(limit))]


def _find_commits_by_ref(session: Session, name: str, subject: str | None) -> list[NamedCommit]:
    """Return the commits to which a tag of this name points, or if there is none, a branch of this name."""
    query = _select_commits(subject).join(
        RefRow, (RefRow.subject_id == Revision.subject_id) & (RefRow.commit == Revision.commit)
    )
    is_remote = RefRow.name == f"origin/{name}"
    has_name = or_(RefRow.name == name, is_remote & (RefRow.kind == "branch"))
    # Sort tags first, then branches of this name, then branches of the remote.
    query = query.add_columns(RefRow.kind, RefRow.name).where(has_name).order_by(RefRow.kind.desc(), is_remote)
    rows = session.connection().execute(query.limit(_MAX_COMMITS)).all()
    # Keep only the rows with the kind and the name of the first row, which takes precedence.
    return [NamedCommit(*row[:-2]) for row in rows if row[-2:] == rows[0][-2:]]


def _find_commits_by_hash(session: Session, prefix: str, subject: str | None) -> list[NamedCommit]:
    """Return the commits whose hash has this prefix."""
    if not _HASH.fullmatch(prefix.lower()):
        return []
    # A range condition can use the index of commits: "g" sorts after every hexadecimal digit.
    has_prefix = Revision.commit.between(prefix.lower(), f"{prefix.lower()}g")
    return [
        NamedCommit(*row) for row in session.execute(_select_commits(subject).where(has_prefix).limit(_MAX_COMMITS))
    ]


def _find_commits_by_date(session: Session, text: str, subject: str | None) -> list[NamedCommit]:
    """Return the last commit of each subject before a time or the end of a day; empty if the text is neither.

    A date is meant roughly, so that commits which were not measured are left out, unless the subject has no others.
    """
    moment = commit_name_syntax.parse_time_or_day(text)
    if moment is None:
        return []
    names = session.scalars(select(Subject.name).where(Subject.name == subject) if subject else select(Subject.name))
    commits = [_find_newest_before(session, name, moment) for name in names.all()]
    return [commit for commit in commits if commit is not None][:_MAX_COMMITS]


def _find_newest_before(session: Session, subject: str, moment: datetime) -> NamedCommit | None:
    """Return the newest measured commit of a subject before a time; if there is none, its newest commit."""
    query = _select_commits(subject).where(Revision.committed_at < moment)
    query = query.order_by(Revision.committed_at.desc(), Revision.position.desc()).limit(1)
    row = session.execute(query.where(_is_measured())).first() or session.execute(query).first()
    return NamedCommit(*row) if row else None


def _is_measured() -> ColumnElement[bool]:
    """Return the condition that a commit has a run."""
    # With LIMIT instead of EXISTS, PostgreSQL looks up one run of each commit, and never reads all runs.
    run = select(Run.number).where(Run.revision_id == Revision.id, Run.outcome == Outcome.MEASURED).limit(1)
    return run.scalar_subquery().is_not(None)


def _follow_steps(session: Session, start: NamedCommit, steps: tuple[int, ...]) -> NamedCommit | None:
    """Return the commit to which steps such as ``~2`` lead; None if it is not stored."""
    subject_id = session.scalars(select(Subject.id).where(Subject.name == start.subject)).one()
    commit = commit_name_syntax.follow_steps(revisions.map_parents(session, subject_id), start.commit, steps)
    if commit is None:
        return None
    return NamedCommit(*session.execute(_select_commits(start.subject).where(Revision.commit == commit)).one())


def _select_commits(subject: str | None):  # type: ignore[no-untyped-def]
    """Return the query for commits as :class:`NamedCommit`, of one subject or of all (None)."""
    columns = select(Revision.commit, Revision.title, Subject.name, Revision.committed_at)
    query = columns.join(Subject, Revision.subject_id == Subject.id)
    return query if not subject else query.where(Subject.name == subject)
