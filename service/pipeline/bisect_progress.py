"""Reads the progress of a bisect: the state of its search, and all runs that the search uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Environment as ContractEnvironment
from runner.contract import Host as ContractHost
from runner.contract import Search, SearchRequest
from runner.contract.commit_search import Measure
from runner.contract.job import BisectQuestion, Job
from service.pipeline import decide_bisect_step
from service.rules.bisect.count_variation import apply_noise_rules_if_varying
from service.rules.bisect.question import Observation, Question
from service.store import environments
from service.store.bisects import bisect_inputs, bisect_results
from service.store.engine import bulk
from service.store.models import Revision, Run, Subject
from service.store.runs import runs

_IDS_PER_QUERY = 500
"""At most this many ids per query, because SQLite limits the number of parameters."""


@dataclass(frozen=True, slots=True)
class BisectProgress:
    """The progress of a bisect."""

    request: SearchRequest
    question: Question
    search: Search
    observations: Sequence[Observation]
    """The runs of the commits of the range, in the order of arrival."""
    titles: dict[str, str]
    failures: dict[UUID, str]
    """For each run without a level, the reason."""


def read_progress(session: Session, job: Job) -> BisectProgress | None:
    """Return the progress of a bisect; None if nothing has been measured for it yet."""
    result = bisect_results.read_result(job)
    request = _find_request(session, job, result)
    question = None if request is None else bisect_inputs.read_question(session, request)
    if request is None or question is None:
        return None
    commits_of_range = set(question.graph.names)
    observations = [run for run in bisect_inputs.read_observations(session, request) if run.commit in commits_of_range]
    question = apply_noise_rules_if_varying(question, observations)
    search = result or (decide_bisect_step.search_commits(session, request) if question.exact else None)
    if search is None:
        # Computing the state of a noisy search takes seconds, and only its runner needs it.
        measure = Measure(commits=(), runs_left=job.runs_left or 0)
        search = Search(commits=len(question.commits), stored_runs=len(observations), answer=measure)
    return BisectProgress(
        request=request,
        question=question,
        search=search,
        observations=observations,
        titles=_read_titles(session, request.subject, question.graph.names),
        failures=_read_failures(session, [run.run for run in observations if run.value is None and run.run]),
    )


def _find_request(session: Session, job: Job, search: Search | None) -> SearchRequest | None:
    """Return the request of the search, from its result, or while there is none, from its first run.

    None if the job is no bisect, or if a run, a commit or an environment that it names is not stored.
    """
    if not isinstance(job.question, BisectQuestion):
        return None
    question = job.question
    # The result of an ended search contains its request.
    request = search.request if search else None
    if request is not None:
        settings = environments.find_settings(session, [request.environment])
        if not settings:
            return None
        return SearchRequest(
            subject=question.subject,
            host=ContractHost(name=request.host),
            environment=ContractEnvironment(settings=settings[request.environment]),
            case=request.case,
            metric=request.metric,
            good=request.good,
            bad=request.bad,
            min_difference=request.min_difference,
        )
    # For a running search, the request follows from its first run.
    report = runs.find_report(session, job.runs[0]) if job.runs else None
    good, bad = (_find_commit(session, question.subject, end) for end in (question.good, question.bad))
    if report is None or good is None or bad is None:
        return None
    return SearchRequest(
        subject=question.subject,
        host=report.host,
        environment=report.environment,
        case=report.case,
        metric=question.metric,
        good=good,
        bad=bad,
        min_difference=question.min_difference,
    )


def _find_commit(session: Session, subject: str, name: str) -> str | None:
    """Return the commit with a hash or a unique prefix of it; None for other names, which only git can resolve."""
    commits = session.scalars(
        select(Revision.commit)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(Subject.name == subject, Revision.commit.startswith(name.lower(), autoescape=True))
        .limit(2)
    ).all()
    return commits[0] if len(commits) == 1 else None


def _read_titles(session: Session, subject: str, commits: Iterable[str]) -> dict[str, str]:
    """Return the titles of the given commits of a subject, by hash."""
    titles: dict[str, str] = {}
    for chunk in bulk.split_into_chunks(commits, _IDS_PER_QUERY):
        rows = session.execute(
            select(Revision.commit, Revision.title)
            .join(Subject, Revision.subject_id == Subject.id)
            .where(Subject.name == subject, Revision.commit.in_(chunk))
        )
        titles |= {commit: title for commit, title in rows}  # noqa: C416 - mypy does not know that rows are pairs
    return titles


def _read_failures(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return why runs have no level of the metric, by the run's id."""
    failures: dict[UUID, str] = {}
    for chunk in bulk.split_into_chunks(ids, _IDS_PER_QUERY):
        rows = session.execute(
            select(Run.id, Run.failure_stage, Run.failure_message, Run.outcome).where(Run.id.in_(chunk))
        )
        for run_id, stage, message, outcome in rows:
            failures[run_id] = f"{stage.noun} {outcome}: {message}" if stage else "without this metric"
    return failures
