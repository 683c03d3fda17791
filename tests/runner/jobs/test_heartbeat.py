"""What keeps a claimed job: it counts runs once, hears what to do, and bears a service that is away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runner.contract.job import (
    Backend,
    BisectQuestion,
    Claim,
    Finish,
    Instruction,
    Job,
    Lease,
    Orders,
    Outcome,
    Progress,
    Where,
)
from runner.contract.job import State as JobState
from runner.errors import FaultwatchError, RequestRefused, ServiceUnavailable
from runner.jobs.heartbeat import Heartbeat, JobStopped
from tests.runner import sample_reports

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job(max_runs: int | None = None) -> Job:
    nothing: dict[str, Any] = dict.fromkeys(
        ("github", "started_at", "finished_at", "deadline_at", "host", "runs_left", "seconds_left", "result")
    )
    return Job(
        id=7,
        question=BisectQuestion(subject="subject", case="w", good="a", bad="b"),
        state=JobState.RUNNING,
        backend=Backend.CALLER,
        asked_by="mara",
        asked_in=Where.API,
        thread="",
        created_at=NOW,
        changed_at=NOW,
        max_runs=max_runs,
        attempts=1,
        runs=(),
        sentence="",
        log_url="",
        steps=(),
        **nothing,
    )


class Service:
    """Remembers what it is told; answers as it is told to."""

    def __init__(self) -> None:
        self.told: list[Progress] = []
        self.ended: list[Finish] = []
        self.claims = 0
        self.answers: list[Orders | FaultwatchError] = []
        self.taken = False

    def clone_connection(self, patience: float = 0) -> Service:
        return self

    def report_progress(self, job_id: int, told: Progress) -> Orders:
        answer = self.answers.pop(0) if self.answers else Orders(instruction=Instruction.CONTINUE)
        if isinstance(answer, FaultwatchError):
            raise answer
        self.told.append(told)
        return answer

    def claim_job(self, job_id: int, claim: Claim) -> Lease:
        if self.taken:
            raise RequestRefused("the host barn has job 7")
        self.claims += 1
        return Lease(job=job(), lease=f"again-{self.claims}", heartbeat_seconds=60)

    def finish_job(self, job_id: int, end: Finish) -> Job:
        self.ended.append(end)
        return job()


@pytest.fixture
def service() -> Service:
    return Service()


def heartbeat(service: Service, max_runs: int | None = None) -> Heartbeat:
    lease = Lease(job=job(max_runs), lease="first", heartbeat_seconds=60)
    return Heartbeat(service, lease, Claim(host="box"), lambda _: None)  # type: ignore[arg-type]


def test_a_run_is_counted_once_and_before_it_is_sent(service: Service) -> None:
    beat = heartbeat(service, max_runs=2)
    first, second = sample_reports.report(1), sample_reports.report(2)
    for document in (first, first, sample_reports.profile(), second):
        beat.count_run(document)
    assert [one for told in service.told for one in told.measured] == [first.run_id, second.run_id]
    with pytest.raises(FaultwatchError, match="budget of 2 runs"):
        beat.check_orders(1)
    beat.check_orders(0)


@pytest.mark.parametrize(
    ("instruction", "said"), [(Instruction.PAUSE, "paused: the host is needed"), (Instruction.STOP, "stopped: ")]
)
def test_who_is_told_to_stop_does_before_the_next_run(instruction: Instruction, said: str, service: Service) -> None:
    beat = heartbeat(service)
    service.answers = [Orders(instruction=instruction, reason="the host is needed")]
    beat.report_progress("one of five", 4)
    with pytest.raises(JobStopped, match=said):
        beat.check_orders(1)


def test_what_could_not_be_told_is_told_later(service: Service) -> None:
    beat = heartbeat(service)
    service.answers = [ServiceUnavailable("the service does not answer")]
    beat.count_run(sample_reports.report(1))
    beat.check_orders(1)
    beat.report_progress("one of five", 4)
    assert service.told[-1].measured == (sample_reports.report(1).run_id,)
    beat.report_progress("two of five", 3)
    assert service.told[-1].measured == ()


def test_a_job_ends_although_more_runs_are_unreported_than_fit_into_one_report(service: Service) -> None:
    beat = heartbeat(service)
    runs = [sample_reports.report(number) for number in range(2001)]
    service.answers = [ServiceUnavailable("the service does not answer") for _ in runs]
    for run in runs:
        beat.count_run(run)
    beat.finish(Outcome.DONE, "found")
    told = [one for report in (*service.told, *service.ended) for one in report.measured]
    assert told == [run.run_id for run in runs]


def test_a_job_that_was_given_up_for_lost_is_claimed_again(service: Service) -> None:
    beat = heartbeat(service)
    service.answers = [RequestRefused("job 7 is queued, and not this runner's any more")]
    beat.count_run(sample_reports.report(1))
    beat.check_orders(1)
    beat.report_progress("one of five", 4)
    assert (service.claims, service.told[-1].lease) == (1, "again-1")
    assert service.told[-1].measured == (sample_reports.report(1).run_id,)
    beat.finish(Outcome.DONE, "found")
    assert service.ended[-1].lease == "again-1"


def test_a_job_that_another_host_has_by_now_is_left_to_it(service: Service) -> None:
    beat = heartbeat(service)
    service.taken = True
    service.answers = [RequestRefused("not this runner's any more")]
    beat.report_progress("one of five", 4)
    with pytest.raises(JobStopped, match="not this runner's"):
        beat.check_orders(1)


def test_a_sentence_is_one_that_the_service_accepts(service: Service) -> None:
    beat = heartbeat(service)
    odd = "/srv/caf\udce9 is\0missing" + "x" * 5000
    beat.report_progress(odd)
    beat.finish(Outcome.FAILED, odd)
    for told in (service.told[-1].sentence, service.ended[-1].sentence):
        assert told.startswith("/srv/caf\ufffd is\ufffdmissing")
        assert Progress.model_validate_json(Progress(lease="x", sentence=told).model_dump_json()).sentence == told
