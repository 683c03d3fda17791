"""Finds what to show for an unmeasured commit: the nearest measured commits, and how to measure it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from runner.contract import Outcome
from runner.contract.job import MeasureQuestion
from runner.contract.report import IMPORT_FORMAT
from service.rules.jobs.measure_question import build_measure_question
from service.rules.series.candidate_commits import list_commits_between
from service.store.models import Case, Environment, EnvironmentCount, Host, Revision, Run, Subject
from service.store.revisions import revisions
from service.store.revisions.named_commits import NamedCommit
from service.store.runs import range_runs
from service.store.runs.range_runs import CaseOnHost
from service.text import commands_to_copy

_RunQuery = TypeVar("_RunQuery", bound=Select[Any])

_MAX_NEAREST_COMMITS = 20
"""An ancestor or a descendant is looked for among so many measured commits on each side."""
_MAX_CASES = 100
"""At most this many cases are offered for a measurement."""


@dataclass(frozen=True, slots=True)
class MeasuredCommit:
    """A measured commit near an unmeasured one, and the number of commits between the two.

    The distance is None if the service does not know how they are connected, for example after an import.
    """

    commit: str
    title: str
    distance: int | None


@dataclass(frozen=True, slots=True)
class UnmeasuredCommit:
    """A known commit without a measured run.

    Attributes
    ----------
    scope_clause
        A clause on the host and the workload whose runs count; empty for any.
    failed_run_id
        Its newest such run, which failed; None if it has none.
    reason
        Why this run failed.
    before, after
        The nearest measured ancestor and descendant; None if there is none.
    cases
        The cases of the nearest measured commits that a host can measure; empty if all their results were imported.
    command
        The command that measures the first of these cases.
    """

    commit: NamedCommit
    scope_clause: str
    failed_run_id: UUID | None
    reason: str
    before: MeasuredCommit | None
    after: MeasuredCommit | None
    cases: Sequence[str]
    command: str


def find_unmeasured_commit(
    session: Session, commit: NamedCommit, host: str = "", workload: str = ""
) -> UnmeasuredCommit | None:
    """Return a commit without a measured run, with its measured neighbours; None if it has one, or no commit has.

    Parameters
    ----------
    host, workload
        Only runs on this host and of this workload count; empty for any.
    """
    # Find the nearest measured commits on both sides.
    subject_id = session.scalars(select(Subject.id).where(Subject.name == commit.subject)).one()
    measured_query = _select_measured_commits(subject_id, host, workload)
    position = session.scalars(
        select(Revision.position).where(Revision.subject_id == subject_id, Revision.commit == commit.commit)
    ).one()
    if session.execute(measured_query.where(Revision.commit == commit.commit)).first():
        return None
    older_query = (
        measured_query.where(Revision.position < position)
        .order_by(Revision.position.desc())
        .limit(_MAX_NEAREST_COMMITS)
    )
    newer_query = (
        measured_query.where(Revision.position > position).order_by(Revision.position).limit(_MAX_NEAREST_COMMITS)
    )
    parents = revisions.map_parents(session, subject_id)
    before = _find_nearest_candidate(
        session, older_query, lambda neighbour: _count_commits_between(parents, neighbour, commit.commit)
    )
    after = _find_nearest_candidate(
        session, newer_query, lambda neighbour: _count_commits_between(parents, commit.commit, neighbour)
    )
    nearest_commits = [side.commit for side in (before, after) if side is not None]
    if not nearest_commits:
        return None
    # Find out why it has no measured run, and how it can be measured.
    failed_runs_query = _restrict_runs(select(Run).where(Run.outcome != Outcome.MEASURED), host, workload)
    failed_runs_query = failed_runs_query.join(Run.revision).order_by(Run.started_at.desc())
    failed_runs_query = failed_runs_query.where(Revision.subject_id == subject_id, Revision.commit == commit.commit)
    failed_run = session.scalars(failed_runs_query.limit(1)).first()
    cases = _list_measurable_cases(session, subject_id, nearest_commits, host, workload)
    report = range_runs.find_newest_report(session, CaseOnHost(commit.subject, cases[0], host)) if cases else None
    return UnmeasuredCommit(
        commit=commit,
        scope_clause="".join([f" of {workload}" if workload else "", f" on {host}" if host else ""]),
        failed_run_id=failed_run.id if failed_run else None,
        reason=(failed_run.failure_message or failed_run.outcome.value) if failed_run else "",
        before=before,
        after=after,
        cases=cases if report else (),
        command=commands_to_copy.build_measure_command(report, commit.commit) if report else "",
    )


def find_measure_question(session: Session, commit: NamedCommit, case: str) -> MeasureQuestion | None:
    """Return the question of a job that measures a case at a commit, on the host and in the way of its newest run.

    None if no run of the case can be repeated.
    """
    report = range_runs.find_newest_report(session, CaseOnHost(commit.subject, case))
    return build_measure_question(report, commit.commit) if report else None


def _select_measured_commits(subject_id: int, host: str, workload: str) -> Select[int, str, str]:
    """Return the query for the commits of a subject that have a measured run."""
    runs = select(Run.number).where(Run.revision_id == Revision.id, Run.outcome == Outcome.MEASURED)
    query = select(Revision.id, Revision.commit, Revision.title).where(Revision.subject_id == subject_id)
    return query.where(_restrict_runs(runs, host, workload).exists())


def _restrict_runs(runs: _RunQuery, host: str, workload: str) -> _RunQuery:
    """Return a query for runs, restricted to a host and a workload; empty for any."""
    if host:
        runs = runs.join(Run.host).where(Host.name == host)
    if workload:
        runs = runs.join(Run.case).where(Case.workload == workload)
    return runs


def _find_nearest_candidate(
    session: Session, candidates: Select[int, str, str], count_distance: Callable[[str], int | None]
) -> MeasuredCommit | None:
    """Return the first candidate that is connected with the unmeasured commit; if none is, the first candidate.

    Parameters
    ----------
    candidates
        The measured commits of one side, nearest in the order of the history first.
    count_distance
        Returns the number of commits between a candidate and the unmeasured commit; None if they are not connected.
    """
    commits = [MeasuredCommit(row.commit, row.title, count_distance(row.commit)) for row in session.execute(candidates)]
    for commit in commits:
        if commit.distance is not None:
            return commit
    return commits[0] if commits else None


def _count_commits_between(parents: Mapping[str, Sequence[str]], older: str, newer: str) -> int | None:
    """Return how many commits ``newer`` contains, but not ``older``; None if it does not contain ``older``."""
    contained_commits = list_commits_between(parents, "", newer)  # without a lower end: the whole history
    if older not in contained_commits:
        return None
    return len(contained_commits - list_commits_between(parents, "", older))


def _list_measurable_cases(
    session: Session, subject_id: int, commits: Collection[str], host: str, workload: str
) -> list[str]:
    """Return the cases of the given commits that a host can measure, sorted by name.

    These are the cases that were measured at any commit; imported runs do not count.
    """
    # Few environments have runs of a subject, so their settings are read here, and not for each run.
    environments = (
        select(EnvironmentCount.environment_id)
        .join(Environment, EnvironmentCount.environment_id == Environment.id)
        .where(EnvironmentCount.subject_id == subject_id, Environment.settings[IMPORT_FORMAT].as_string().is_(None))
    )
    environment_ids = session.scalars(environments.distinct()).all()
    if not environment_ids:
        return []
    measured_runs = _restrict_runs(select(Run.number), host, "").where(
        Run.subject_id == subject_id,
        Run.case_id == Case.id,
        Run.outcome == Outcome.MEASURED,
        Run.environment_id.in_(environment_ids),
    )
    is_of_commits = Revision.subject_id == subject_id, Revision.commit.in_(commits)
    cases_of_commits = _restrict_runs(select(Run.case_id), host, workload).join(Run.revision).where(*is_of_commits)
    query = select(Case.name).where(Case.id.in_(cases_of_commits), measured_runs.correlate(Case).exists())
    return list(session.scalars(query.distinct().order_by(Case.name).limit(_MAX_CASES)))
