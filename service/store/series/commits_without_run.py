"""The gaps of a series: commits at which its host measured other cases, but not the case of the series."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Outcome
from service.store.engine import bulk
from service.store.models import Revision, Run, Series
from service.store.series.points import IS_ON_TREND

_COMMITS_PER_QUERY = 500
"""At most this many commits per query, because SQLite limits the number of parameters."""


class CommitWithoutRun(NamedTuple):
    """A commit at which a case was not measured."""

    revision: str
    title: str
    committed_at: datetime
    position: int


class Gaps(NamedTuple):
    """The commits without a run, newest first."""

    commits: list[CommitWithoutRun]
    are_complete: bool
    """Whether all commits were searched, or only the newest ones."""


def find_gaps(session: Session, series_id: int, max_searched: int | None = None) -> Gaps:
    """Return the commits at which the host of a series measured other cases of its subject, but not its case.

    A commit at which the case has only failed runs is no gap, nor is one at which other cases have only runs outside of
    the history, such as those of a bisect.

    Parameters
    ----------
    max_searched
        At most so many of the newest commits that lack the case are searched for runs of the host, because all runs of
        a commit may belong to other hosts; None for all.
    """
    ids = select(Series.subject_id, Series.host_id, Series.case_id).where(Series.id == series_id)
    row = session.execute(ids).one_or_none()
    if row is None:  # the series was deleted in the meantime
        return Gaps([], are_complete=True)
    subject_id, host_id, case_id = row
    connection = session.connection()
    is_of_case = Run.subject_id == subject_id, Run.host_id == host_id, Run.case_id == case_id
    ids_of_case = set(connection.execute(select(Run.revision_id).where(*is_of_case).distinct()).scalars())
    # With LIMIT instead of EXISTS, PostgreSQL looks up one run of each commit, and never reads all runs.
    any_run = select(Run.number).where(Run.revision_id == Revision.id).limit(1).scalar_subquery()
    run_ids_query = select(Revision.id).where(Revision.subject_id == subject_id, any_run.is_not(None))
    newest_first = connection.execute(run_ids_query.order_by(Revision.position.desc())).scalars()
    lacking_ids = [revision_id for revision_id in newest_first if revision_id not in ids_of_case]
    searched_ids = lacking_ids[:max_searched]
    run_of_host = select(Run.number).where(
        Run.revision_id == Revision.id, Run.host_id == host_id, Run.outcome == Outcome.MEASURED, IS_ON_TREND
    )
    gaps_query = select(Revision.commit, Revision.title, Revision.committed_at, Revision.position).where(
        run_of_host.limit(1).scalar_subquery().is_not(None)
    )
    commits = [
        CommitWithoutRun(*columns)
        for chunk in bulk.split_into_chunks(searched_ids, _COMMITS_PER_QUERY)
        for columns in connection.execute(gaps_query.where(Revision.id.in_(chunk)).order_by(Revision.position.desc()))
    ]
    return Gaps(commits, are_complete=len(searched_ids) == len(lacking_ids))
