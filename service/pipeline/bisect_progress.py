"""The course of a bisect: its job, where its search stands, and all that was measured for it or known before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Environment as ContractEnvironment
from runner.contract import Host as ContractHost
from runner.contract import Search, SearchRequest
from runner.contract.job import BisectQuestion, Job
from runner.contract.search import Measure
from service.pipeline import bisect_search
from service.rules.bisect.question import Observation, Question
from service.store import bisect_inputs, environments, runs
from service.store.engine import bulk
from service.store.models import Revision, Run, Subject

_MOST = 500


@dataclass(frozen=True, slots=True)
class Course:
    """All that can be told of a search."""

    asked: SearchRequest
    question: Question
    search: Search
    observations: Sequence[Observation]
    """Of the commits of the range, in the order in which they were stored."""
    titles: dict[str, str]
    failures: dict[UUID, str]
    """Why runs measured nothing."""


def of(session: Session, job: Job) -> Course | None:
    """Return the course of a bisect's job; None where nothing was measured for it yet."""
    told = result(job)
    asked = _asked(session, job, told)
    question = None if asked is None else bisect_inputs.question(session, asked)
    if asked is None or question is None:
        return None
    inside = set(question.graph.names)
    seen = [one for one in bisect_inputs.observations(session, asked) if one.commit in inside]
    search = told or (bisect_search.state(session, asked) if question.exact else None)
    if search is None:
        # Where a noisy search stands takes seconds to work out: its runner asks, and readers need not.
        left = Measure(commits=(), left=job.runs_left or 0)
        search = Search(commits=len(question.commits), known=len(seen), answer=left)
    return Course(
        asked=asked,
        question=question,
        search=search,
        observations=seen,
        titles=_titles(session, asked.subject, question.graph.names),
        failures=_failures(session, [one.run for one in seen if one.value is None and one.run]),
    )


def result(job: Job) -> Search | None:
    """Return the search of a bisect as it ended, if it did."""
    try:
        return None if job.result is None else Search.model_validate(job.result)
    except ValidationError:  # a runner of another version has told it
        return None


def _asked(session: Session, job: Job, told: Search | None) -> SearchRequest | None:
    """Return what is searched: by the result, or while there is none by the first run that was measured for it."""
    if not isinstance(job.question, BisectQuestion):
        return None
    question = job.question
    about = told.asked if told else None
    if about is not None:
        held = environments.knobs(session, [about.environment])
        if not held:
            return None
        return SearchRequest(
            subject=question.subject,
            host=ContractHost(name=about.host),
            environment=ContractEnvironment(knobs=held[about.environment]),
            case=about.case,
            metric=about.metric,
            good=about.good,
            bad=about.bad,
            least=about.least,
        )
    report = runs.report(session, job.runs[0]) if job.runs else None
    ends = [_commit(session, question.subject, end) for end in (question.good, question.bad)]
    if report is None or ends[0] is None or ends[1] is None:
        return None
    return SearchRequest(
        subject=question.subject,
        host=report.host,
        environment=report.environment,
        case=report.case,
        metric=question.metric,
        good=ends[0],
        bad=ends[1],
        least=question.least,
    )


def _commit(session: Session, subject: str, name: str) -> str | None:
    """Return the commit of a hash or of its beginning; what only git can resolve is known once the search has ended."""
    found = session.scalars(
        select(Revision.commit)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(Subject.name == subject, Revision.commit.startswith(name.lower(), autoescape=True))
        .limit(2)
    ).all()
    return found[0] if len(found) == 1 else None


def _titles(session: Session, subject: str, commits: Iterable[str]) -> dict[str, str]:
    titles: dict[str, str] = {}
    for chunk in bulk.chunks(commits, _MOST):
        rows = session.execute(
            select(Revision.commit, Revision.title)
            .join(Subject, Revision.subject_id == Subject.id)
            .where(Subject.name == subject, Revision.commit.in_(chunk))
        )
        titles |= {commit: title for commit, title in rows}  # noqa: C416 - the rows are no pairs to mypy
    return titles


def _failures(session: Session, ids: Iterable[UUID]) -> dict[UUID, str]:
    failures: dict[UUID, str] = {}
    for chunk in bulk.chunks(ids, _MOST):
        rows = session.execute(
            select(Run.id, Run.failure_stage, Run.failure_message, Run.outcome).where(Run.id.in_(chunk))
        )
        for run_id, stage, message, outcome in rows:
            failures[run_id] = f"{stage} {outcome}: {message}" if stage else "without this metric"
    return failures
