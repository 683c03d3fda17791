"""What becomes of jobs that somebody else starts: started once, tried again, and told where they were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
import reports

from runner.contract.job import Backend, BisectQuestion, Claim, Finish, Job, JobOrder, Outcome, State, Where
from service.jobs.desk import Desk, NotDispatched, WrongOrderError
from service.jobs.life import Act
from service.store import jobs, leases
from service.store.database import Database
from service.store.jobs import Asked

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
QUESTION = BisectQuestion(subject="demo", case=reports.CASE.name, good=reports.commit(1), bad=reports.commit(9))
ASKED = Asked("mara", Where.COMMENT, "octo-org/demo#7")


@dataclass
class Actions:
    """Starts and tells nothing, but remembers; fails as often as it is told to."""

    failures: list[NotDispatched] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    told: list[tuple[int, State]] = field(default_factory=list)

    def objection(self, asked: JobOrder) -> str:
        return "" if asked.github else "no repository is named"

    def start(self, job: Job) -> str:
        self._fail()
        self.started.append(job.id)
        return "https://github.example/run"

    def tell(self, job: Job, tellings: int) -> None:
        self._fail()
        self.told.append((job.id, job.state))

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
def desk(database: Database, actions: Actions, clock: Clock) -> Iterator[Desk]:
    return Desk(database, {Backend.GITHUB: actions}, actions, now=clock, awake_since=NOW - timedelta(days=1))


def order(desk: Desk) -> int:
    return desk.order(JobOrder(question=QUESTION, github="octo-org/demo"), ASKED)[0].id


def job(desk: Desk, job_id: int) -> Job:
    with desk.database.reading() as session:
        row = jobs.find(session, job_id)
        assert row is not None
        return jobs.view(row)


def claim(desk: Desk, job_id: int, host: str = "box") -> str:
    with desk.database.writing() as session:
        row = jobs.find(session, job_id)
        assert row is not None
        return leases.claim(session, row, Claim(host=host), desk.lease, desk.now())


def finish(desk: Desk, job_id: int, lease: str) -> None:
    with desk.database.writing() as session:
        row = jobs.find(session, job_id)
        assert row is not None
        leases.finish(row, Finish(lease=lease, outcome=Outcome.DONE, sentence="It was 00007."), desk.now())


def test_a_job_is_started_once_however_often_one_looks(desk: Desk, actions: Actions) -> None:
    job_id = order(desk)
    for _ in range(3):
        desk.work()
    assert actions.started == [job_id]
    found = job(desk, job_id)
    assert (found.state, found.backend, found.attempts) == (State.DISPATCHED, Backend.GITHUB, 1)
    assert found.log_url == "https://github.example/run"


def test_what_github_does_not_take_now_is_tried_again_when_it_says(desk: Desk, actions: Actions, clock: Clock) -> None:
    actions.failures = [NotDispatched("secondary rate limit", NOW + timedelta(minutes=5))]
    job_id = order(desk)
    desk.work()
    desk.work()
    assert (actions.started, job(desk, job_id).sentence) == ([], "secondary rate limit")
    clock.now += timedelta(minutes=5)
    desk.work()
    assert actions.started == [job_id]
    assert job(desk, job_id).attempts == 1


def test_what_github_never_takes_is_given_up_with_the_reason_and_told(desk: Desk, actions: Actions) -> None:
    actions.failures = [NotDispatched("there is no workflow bisect.yml", None)]
    job_id = order(desk)
    desk.work()
    found = job(desk, job_id)
    assert (found.state, found.sentence) == (State.FAILED, "there is no workflow bisect.yml")
    assert actions.told == [(job_id, State.FAILED)]


def test_a_workflow_that_ends_without_a_word_is_ordered_again_and_given_up_in_the_end(
    desk: Desk, actions: Actions
) -> None:
    job_id = order(desk)
    for attempt in range(1, 4):
        desk.work()
        assert actions.started == [job_id] * attempt
        claim(desk, job_id)
        desk.ended(job_id, "Its workflow ended: failure.")
    desk.work()
    assert job(desk, job_id).state is State.FAILED
    assert job(desk, job_id).sentence == "It was started 3 times, and nothing was measured."


def test_what_has_said_its_end_is_not_lost_when_its_process_ends(desk: Desk, actions: Actions) -> None:
    job_id = order(desk)
    desk.work()
    finish(desk, job_id, claim(desk, job_id))
    desk.ended(job_id, "Its workflow ended: success.")
    for _ in range(2):
        desk.work()
    assert job(desk, job_id).state is State.DONE
    assert actions.told == [(job_id, State.DONE)]


def test_telling_is_tried_again_and_done_once(desk: Desk, actions: Actions, clock: Clock) -> None:
    job_id = order(desk)
    desk.work()
    finish(desk, job_id, claim(desk, job_id))
    actions.failures = [NotDispatched("500", NOW + timedelta(seconds=5))]
    desk.work()
    assert actions.told == []
    clock.now += timedelta(seconds=5)
    desk.work()
    desk.work()
    assert actions.told == [(job_id, State.DONE)]


def test_another_process_of_the_service_that_starts_nothing_leaves_it_to_this_one(desk: Desk) -> None:
    job_id = order(desk)
    replace(desk, starters={}).work()
    assert job(desk, job_id).state is State.QUEUED


def test_who_cannot_start_it_says_why(desk: Desk) -> None:
    with pytest.raises(WrongOrderError, match="starts no jobs by local"):
        desk.order(JobOrder(question=QUESTION, backend=Backend.LOCAL), ASKED)
    found, _ = desk.order(JobOrder(question=QUESTION), ASKED)
    assert found.backend is Backend.CALLER


def test_the_next_job_of_a_subject_runs_where_the_last_one_did(desk: Desk) -> None:
    first = order(desk)
    with desk.database.writing() as session:
        row = jobs.find(session, first)
        assert row is not None
        jobs.move(row, Act.CANCEL, "mara", "", NOW)
    found, _ = desk.order(JobOrder(question=QUESTION), ASKED)
    assert (found.github, found.backend) == ("octo-org/demo", Backend.GITHUB)


def test_two_processes_of_the_service_start_a_job_once(desk: Desk, actions: Actions) -> None:
    job_id = order(desk)
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(lambda _: desk.work(), range(8)):
            pass
    assert actions.started == [job_id]
