"""What becomes of jobs that somebody else starts: started once, tried again, and told where they were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from runner.contract.job import Backend, BisectQuestion, Claim, Finish, Job, JobOrder, Outcome, State, Where
from service.jobs.scheduler import JobScheduler, RemoteCallFailed, WrongOrderError
from service.pipeline import lease_jobs
from service.rules.jobs.job_states import Action
from service.store import jobs
from service.store.engine.database import Database
from service.store.jobs import Requester
from tests.service import reports

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUESTION = BisectQuestion(subject="demo", case=reports.CASE.name, good=reports.commit(1), bad=reports.commit(9))
REQUESTER = Requester("mara", Where.COMMENT, "octo-org/demo#7")


@dataclass
class Actions:
    """Records what it is to start and to post; raises the given failures first."""

    failures: list[RemoteCallFailed] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    posted: list[tuple[int, State]] = field(default_factory=list)
    held: set[int] = field(default_factory=set)

    def explain_objection(self, order: JobOrder) -> str:
        return "" if order.github else "no repository is named"

    def has_room(self) -> bool:
        return True

    def is_waiting(self, job_id: int) -> bool:
        return job_id in self.held

    def start(self, job: Job) -> str:
        self._fail()
        self.started.append(job.id)
        return "https://github.example/run"

    def post_result(self, job: Job, attempts: int) -> None:
        self._fail()
        self.posted.append((job.id, job.state))

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def actions() -> Actions:
    return Actions()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scheduler(database: Database, actions: Actions, clock: Clock) -> Iterator[JobScheduler]:
    return JobScheduler(database, {Backend.GITHUB: actions}, actions, now=clock, awake_since=NOW - timedelta(days=1))


def order(scheduler: JobScheduler) -> int:
    return scheduler.order(JobOrder(question=QUESTION, github="octo-org/demo"), REQUESTER)[0].id


def job(scheduler: JobScheduler, job_id: int) -> Job:
    with scheduler.database.reading() as session:
        row = jobs.find_job(session, job_id)
        assert row is not None
        return jobs.build_view(row)


def claim(scheduler: JobScheduler, job_id: int, host: str = "box") -> str:
    with scheduler.database.writing() as session:
        row = jobs.find_job(session, job_id)
        assert row is not None
        return lease_jobs.claim_job(session, row, Claim(host=host), scheduler.lease_time, scheduler.now())


def finish(scheduler: JobScheduler, job_id: int, lease: str) -> None:
    with scheduler.database.writing() as session:
        row = jobs.find_job(session, job_id)
        assert row is not None
        lease_jobs.finish_job(
            session, row, Finish(lease=lease, outcome=Outcome.DONE, sentence="It was 00007."), scheduler.now()
        )


def test_a_job_is_started_once_however_often_one_looks(scheduler: JobScheduler, actions: Actions) -> None:
    job_id = order(scheduler)
    for _ in range(3):
        scheduler.work()
    assert actions.started == [job_id]
    found = job(scheduler, job_id)
    assert (found.state, found.backend, found.attempts) == (State.DISPATCHED, Backend.GITHUB, 1)
    assert found.log_url == "https://github.example/run"


def test_what_github_does_not_take_now_is_tried_again_when_it_says(
    scheduler: JobScheduler, actions: Actions, clock: Clock
) -> None:
    actions.failures = [RemoteCallFailed("secondary rate limit", NOW + timedelta(minutes=5))]
    job_id = order(scheduler)
    scheduler.work()
    scheduler.work()
    assert (actions.started, job(scheduler, job_id).sentence) == ([], "secondary rate limit")
    clock.now += timedelta(minutes=5)
    scheduler.work()
    assert actions.started == [job_id]
    assert job(scheduler, job_id).attempts == 1


def test_what_github_never_takes_is_given_up_with_the_reason_and_told(
    scheduler: JobScheduler, actions: Actions
) -> None:
    actions.failures = [RemoteCallFailed("there is no workflow bisect.yml", None)]
    job_id = order(scheduler)
    scheduler.work()
    found = job(scheduler, job_id)
    assert (found.state, found.sentence) == (State.FAILED, "there is no workflow bisect.yml")
    assert actions.posted == [(job_id, State.FAILED)]


def test_a_workflow_that_ends_without_a_word_is_ordered_again_and_given_up_in_the_end(
    scheduler: JobScheduler, actions: Actions
) -> None:
    job_id = order(scheduler)
    for attempt in range(1, 4):
        scheduler.work()
        assert actions.started == [job_id] * attempt
        claim(scheduler, job_id)
        scheduler.record_ended_process(job_id, attempt, "Its workflow ended: failure.")
    scheduler.work()
    assert job(scheduler, job_id).state is State.FAILED
    assert job(scheduler, job_id).sentence == "The job was started 3 times without a measurement."


def test_what_has_said_its_end_is_not_lost_when_its_process_ends(scheduler: JobScheduler, actions: Actions) -> None:
    job_id = order(scheduler)
    scheduler.work()
    finish(scheduler, job_id, claim(scheduler, job_id))
    scheduler.record_ended_process(job_id, 1, "Its workflow ended: success.")
    for _ in range(2):
        scheduler.work()
    assert job(scheduler, job_id).state is State.DONE
    assert actions.posted == [(job_id, State.DONE)]


def test_the_end_of_an_earlier_process_loses_no_job_that_was_started_again(
    scheduler: JobScheduler, actions: Actions
) -> None:
    job_id = order(scheduler)
    scheduler.work()
    scheduler.record_ended_process(job_id, 1, "Its process ended with status 1.")
    scheduler.work()
    assert actions.started == [job_id] * 2
    scheduler.record_ended_process(job_id, 1, "Its process ended with status 1.")
    assert job(scheduler, job_id).state is State.DISPATCHED


def test_telling_is_tried_again_and_done_once(scheduler: JobScheduler, actions: Actions, clock: Clock) -> None:
    job_id = order(scheduler)
    scheduler.work()
    finish(scheduler, job_id, claim(scheduler, job_id))
    actions.failures = [RemoteCallFailed("500", NOW + timedelta(seconds=5))]
    scheduler.work()
    assert actions.posted == []
    clock.now += timedelta(seconds=5)
    scheduler.work()
    scheduler.work()
    assert actions.posted == [(job_id, State.DONE)]


def test_another_process_of_the_service_that_starts_nothing_leaves_it_to_this_one(scheduler: JobScheduler) -> None:
    job_id = order(scheduler)
    replace(scheduler, starters={}).work()
    assert job(scheduler, job_id).state is State.QUEUED


def test_who_cannot_start_it_says_why(scheduler: JobScheduler) -> None:
    with pytest.raises(WrongOrderError, match="does not start jobs through local"):
        scheduler.order(JobOrder(question=QUESTION, backend=Backend.LOCAL), REQUESTER)
    found, _ = scheduler.order(JobOrder(question=QUESTION), REQUESTER)
    assert found.backend is Backend.CALLER


def test_the_next_job_of_a_subject_runs_where_the_last_one_did(scheduler: JobScheduler) -> None:
    first = order(scheduler)
    with scheduler.database.writing() as session:
        row = jobs.find_job(session, first)
        assert row is not None
        jobs.move_job_to_next_state(row, Action.CANCEL, "mara", "", NOW)
    found, _ = scheduler.order(JobOrder(question=QUESTION), REQUESTER)
    assert (found.github, found.backend) == ("octo-org/demo", Backend.GITHUB)


def test_two_processes_of_the_service_start_a_job_once(scheduler: JobScheduler, actions: Actions) -> None:
    job_id = order(scheduler)
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: scheduler.work(), range(8)):
            pass
    assert actions.started == [job_id]


def test_a_job_that_waits_its_turn_is_not_lost_however_long_it_waits(
    scheduler: JobScheduler, actions: Actions, clock: Clock
) -> None:
    number = order(scheduler)
    scheduler.work()
    actions.held.add(number)
    clock.now += timedelta(days=3)
    scheduler.work()
    assert job(scheduler, number).state is State.DISPATCHED
    assert actions.started == [number]

    actions.held.clear()
    scheduler.work()
    assert actions.started == [number, number], "nobody waits any more, so it is ordered again"
