"""Leads a search that several hosts share: gives each a commit that no other one measures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Search, SearchRequest
from runner.contract.job import BisectQuestion, State
from runner.contract.report import hash_of
from runner.contract.search import Measure, NothingToFind, Prove, Wait
from service.pipeline import bisect_search
from service.pipeline.bisect_search import Sharing
from service.rules.bisect import pool
from service.rules.bisect.pool import LastMeasurement, Reservation
from service.store import bisect_inputs, environments, shared_rows
from service.store.models import Job

_MOST_KNOBS = 5
"""Differing knobs that a refusal names."""


class WrongSearchError(Exception):
    """The job does not ask this."""


def next_step(session: Session, row: Job, request: SearchRequest, now: datetime) -> Search | None:
    """Return the state of a shared search, and store what the job's host measures next.

    Returns None where the subject does not have one of the search's ends. The caller holds the only writing session:
    two hosts never get the same commit.

    Raises
    ------
    WrongSearchError
        Where the job shares no such search.
    """
    question = BisectQuestion.model_validate(row.question)
    wrong = _why_wrong(row, question, request)
    if wrong:
        raise WrongSearchError(wrong)
    _end_measurement(row, now)
    row.search_key, row.search_environment = _key(request), request.environment.hash
    running = _others(session, row, question.pool, now)
    others = [job for job in running if job.search_environment == row.search_environment]
    seen = bisect_inputs.observations(session, request, question.pool)
    reservations = _reservations(others, {run.commit for run in seen}, now)
    sharing = Sharing(
        pool=question.pool,
        slots=max(1, 1 + len(others) - len(reservations)),
        pending=frozenset(commit for reservation in reservations for commit in reservation.commits),
        proofs=frozenset(reservation.commits[-1] for reservation in reservations if reservation.proof),
    )
    search = bisect_search.state(session, request, sharing, seen)
    if search is None:
        return None
    # The host that joined later is refused, so that it cannot end the search of the others.
    foreign = next((job for job in running if job not in others and job.id < row.id), None)
    if foreign is not None:
        return search.model_copy(update={"answer": _refusal(session, request, foreign)})
    answer = search.answer
    if isinstance(answer, Measure):
        answer = _measure_or_wait(answer, reservations, _last_measurement(row), now)
    commits = answer.commits if isinstance(answer, Measure) else ()
    if isinstance(answer, Prove):
        commits = (answer.parent, answer.commit)
    if commits:
        row.measuring, row.measuring_since = list(commits), now
    return search.model_copy(update={"answer": answer})


def _why_wrong(row: Job, question: BisectQuestion, request: SearchRequest) -> str:
    """Return why a job may not ask for a search; empty where it may."""
    if not question.pool:
        return f"job {row.id} shares its search with no other host"
    if row.state is not State.RUNNING:
        return f"job {row.id} is {row.state}"
    if request.host.name != row.host:
        return f"job {row.id} runs on {row.host}, and the search names {request.host.name}"
    asked = (request.subject, request.case.name, request.metric)
    if asked != (question.subject, question.case, question.metric):
        return f"job {row.id} has another question"
    return ""


def _reservations(others: Sequence[Job], measured: Collection[str], now: datetime) -> list[Reservation]:
    """Return what other hosts measure, without those whose run is stored and that are about to ask again."""
    reservations = [
        Reservation(str(job.host), tuple(job.measuring), job.measuring_since or now, job.measuring_seconds)
        for job in others
    ]
    return [
        reservation
        for reservation in pool.valid(reservations, now)
        if reservation.proof or reservation.commits[0] not in measured
    ]


def _measure_or_wait(
    answer: Measure, reservations: Sequence[Reservation], last: LastMeasurement | None, now: datetime
) -> Measure | Wait:
    """Return the first of the commits, or the order to wait for others: for a while, or since nothing is left."""
    soon = pool.ending_soon(reservations, last, now)
    if answer.commits and not soon:
        return answer.model_copy(update={"commits": answer.commits[:1]})
    awaited = soon or reservations
    return Wait(
        hosts=tuple(reservation.host for reservation in awaited),
        commits=tuple(reservation.commits[-1] for reservation in awaited),
        seconds=pool.pause(last),
        left=answer.left,
    )


def _end_measurement(row: Job, now: datetime) -> None:
    """Note how long the last measurement took: a host asks again when it has sent the run."""
    if row.measuring_since is not None:
        row.measuring_seconds, row.measuring_ended = (now - row.measuring_since).total_seconds(), now
    row.measuring, row.measuring_since = [], None


def _last_measurement(row: Job) -> LastMeasurement | None:
    if row.measuring_seconds is None or row.measuring_ended is None:
        return None
    return LastMeasurement(row.measuring_ended, row.measuring_seconds)


def _others(session: Session, row: Job, hosts: Sequence[str], now: datetime) -> list[Job]:
    """Return the running jobs of the other hosts of a pool that share the search, the oldest first."""
    running = (Job.state == State.RUNNING, Job.leased_until > now)
    shared = (Job.search_key == row.search_key, Job.host.in_(hosts), Job.host != row.host)
    return list(session.scalars(select(Job).where(*running, *shared).order_by(Job.id)))


def _key(request: SearchRequest) -> str:
    """Return the identity of a search, whoever leads it. The environment is compared apart, to be able to say why."""
    return hash_of(
        [request.subject, shared_rows.case_key(request.case), request.metric, request.good, request.bad, request.least]
    )


def _refusal(session: Session, request: SearchRequest, other: Job) -> NothingToFind:
    """Return the refusal to share a search with a host in another environment."""
    knobs = environments.knobs(session, [str(other.search_environment)]).get(str(other.search_environment))
    own = request.environment.knobs
    differing = sorted(name for name in own.keys() | knobs.keys() if own.get(name) != knobs.get(name)) if knobs else []
    named = (
        f" ({', '.join(differing[:_MOST_KNOBS])}{' …' if len(differing) > _MOST_KNOBS else ''})" if differing else ""
    )
    return NothingToFind(
        sentence=f"{other.host} measures in another environment than {request.host.name}{named}, so their counts "
        "cannot be compared: only identical hosts can share a search."
    )
