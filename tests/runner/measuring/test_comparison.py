import os
import re
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.contract.report import Case, Environment, Host, Outcome, Revision
from runner.measuring.cold_files import EvictionError
from runner.measuring.comparison import ComparisonResult, Pairs, compare_interleaved_trials
from runner.measuring.stored_base import compare_with_stored_base
from runner.measuring.trial import Bench, Subject, Trial
from runner.subject.build_record import RECORD_FILE
from runner.workload import Workload

pytestmark = pytest.mark.perf

CASE = Case(workload="script", definition="0" * 16)
REVISION = Revision(commit="a" * 40, committed_at=datetime(2024, 1, 1, tzinfo=UTC))


def trial(script: str, folder: Path, variables: dict[str, str] | None = None, **general: object) -> Trial:
    workload = Workload.model_validate(
        {"workload": {"name": "script", "timeout": 10, **general}, "run": {"command": ["sh", "-c", script]}}
    )
    bench = Bench(Host(name="host"), lambda _: Environment(settings={}), variables or {})
    return Trial(workload, Subject("subject", REVISION, CASE), bench, folder)


class Service:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self, *remaining_pairs: int) -> None:
        self.remaining_pairs = list(remaining_pairs)
        self.asked: list[ComparisonRequest] = []

    def __call__(self, request: ComparisonRequest) -> Comparison:
        self.asked.append(request)
        return Comparison(verdict=Verdict.SAME, remaining_pairs=self.remaining_pairs.pop(0), metrics=(), settings=())


def turns(folder: Path, service: Service, pairs: Pairs) -> tuple[ComparisonResult, str]:
    log = folder / "log"
    sides = [trial(f"printf {name} >>{log}", folder) for name in "AB"]
    done = compare_interleaved_trials(sides[0], sides[1], service, pairs=pairs)
    return done, log.read_text()


def test_base_and_head_take_turns_after_a_warm_up_of_each(tmp_path: Path) -> None:
    done, log = turns(tmp_path, Service(0), Pairs(4, 4))
    # A second warm-up follows where a mapped file was not in its defined state during the first one.
    assert re.fullmatch("A{1,2}B{1,2}" + "ABBAABBA", log)
    assert [sample.place for sample in done.base.samples] == [0, 3, 4, 7]
    assert [sample.place for sample in done.head.samples] == [1, 2, 5, 6]
    assert done.base.session == done.head.session
    assert done.base.session is not None
    assert done.base.run_id != done.head.run_id


def test_more_is_measured_as_long_as_the_service_orders_it(tmp_path: Path) -> None:
    service = Service(3, 1, 0)
    done, log = turns(tmp_path, service, Pairs(2, 20))
    assert [len(request.base.samples) for request in service.asked] == [2, 5, 6]
    assert len(done.head.samples) == 6
    assert re.fullmatch("A{1,2}B{1,2}" + "ABBA" * 3, log)


def test_nothing_is_measured_beyond_the_ceiling(tmp_path: Path) -> None:
    service = Service(4, 4)
    done, _ = turns(tmp_path, service, Pairs(2, 3))
    assert [len(request.base.samples) for request in service.asked] == [2, 3]
    assert len(done.base.samples) == 3


def test_a_side_that_fails_ends_the_comparison_without_a_verdict(tmp_path: Path) -> None:
    service = Service()
    done = compare_interleaved_trials(trial("true", tmp_path), trial("exit 3", tmp_path), service, pairs=Pairs(2, 2))
    assert done.comparison is None
    assert (done.base.outcome, done.head.outcome) == (Outcome.SKIPPED, Outcome.FAILED)
    assert done.head.failure
    assert "ended with exit code 3" in done.head.failure.message
    assert not service.asked


def test_a_base_that_fails_only_beside_head_is_no_excuse_for_head(tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    base = trial(f"test ! -e {flag} || (rm {flag} && false)", tmp_path)
    head = trial(f"test ! -e {tmp_path}/warm && touch {tmp_path}/warm || touch {flag}", tmp_path)
    done = compare_interleaved_trials(base, head, Service(), pairs=Pairs(2, 2))
    assert done.comparison is None
    assert (done.base.outcome, done.head.outcome) == (Outcome.SKIPPED, Outcome.SKIPPED)
    assert done.head.failure
    assert "base fails only when it is measured together with head" in done.head.failure.message


def test_the_failure_of_base_beside_head_shows_no_secret(tmp_path: Path) -> None:
    flag, secret = tmp_path / "flag", "a-secret-of-tests"
    base = trial(f": {secret}; test ! -e {flag} || (rm {flag} && false)", tmp_path, {"API_TOKEN": secret})
    head = trial(f"test ! -e {tmp_path}/warm && touch {tmp_path}/warm || touch {flag}", tmp_path, {"API_TOKEN": secret})
    done = compare_interleaved_trials(base, head, Service(), pairs=Pairs(2, 2))
    assert done.head.failure
    assert "base fails only when it is measured together with head: `sh -c ': (hidden);" in done.head.failure.message
    assert secret not in done.head.failure.message


def test_the_side_whose_files_stay_in_memory_is_the_one_that_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, head = trial("true", tmp_path), trial("true", tmp_path)
    execute = head.execute

    def refuse_sample(**options: object) -> object:
        if options:  # The warm-up records.
            return execute(**options)  # type: ignore[arg-type]
        raise EvictionError("data remained in memory")

    monkeypatch.setattr(head, "execute", refuse_sample)
    done = compare_interleaved_trials(base, head, Service(), pairs=Pairs(2, 2))
    assert (done.base.outcome, done.head.outcome) == (Outcome.SKIPPED, Outcome.SKIPPED)
    assert done.base.failure
    assert done.head.failure
    assert done.base.failure.message == "the other side of the comparison could not be measured"
    assert done.head.failure.message == "data remained in memory"
    assert done.head.failure.temporary


def test_a_head_whose_base_fails_is_executed_alone(tmp_path: Path) -> None:
    repaired = compare_interleaved_trials(
        trial("exit 3", tmp_path), trial("true", tmp_path), Service(), pairs=Pairs(2, 2)
    )
    assert repaired.comparison is None
    assert (repaired.base.outcome, repaired.head.outcome) == (Outcome.FAILED, Outcome.MEASURED)
    broken = compare_interleaved_trials(
        trial("exit 3", tmp_path), trial("exit 4", tmp_path), Service(), pairs=Pairs(2, 2)
    )
    assert (broken.base.outcome, broken.head.outcome) == (Outcome.FAILED, Outcome.FAILED)


class Decides(Service):
    """Answers as the next of some verdicts says, with one more pair to measure until then."""

    def __init__(self, *verdicts: Verdict) -> None:
        super().__init__()
        self.verdicts = list(verdicts)

    def __call__(self, request: ComparisonRequest) -> Comparison:
        self.asked.append(request)
        verdict = self.verdicts.pop(0)
        more = verdict is Verdict.NEEDS_MORE_RUNS and bool(self.verdicts)
        return Comparison(verdict=verdict, remaining_pairs=int(more), metrics=(), settings=())


def test_head_is_executed_beside_a_stored_base_until_it_is_decided(tmp_path: Path) -> None:
    log = tmp_path / "log"
    base = compare_interleaved_trials(
        trial("true", tmp_path), trial("true", tmp_path), Service(0), pairs=Pairs(1, 1)
    ).base
    service = Decides(Verdict.NEEDS_MORE_RUNS, Verdict.NEEDS_MORE_RUNS, Verdict.SAME)
    done = compare_with_stored_base(base, trial(f"printf B >>{log}", tmp_path), service, pairs=Pairs(2, 9), n_cases=3)
    assert done is not None
    assert done.base_stored
    assert [len(request.head.samples) for request in service.asked] == [2, 3, 4]
    assert {(request.cases, request.max_pairs) for request in service.asked} == {(3, 9)}
    hopeless = Decides(Verdict.NEEDS_MORE_RUNS)
    assert compare_with_stored_base(base, trial("true", tmp_path), hopeless, pairs=Pairs(2, 9)) is None


def test_the_runner_is_scheduled_as_before_when_it_is_over(tmp_path: Path) -> None:
    before = os.sched_getscheduler(0)
    turns(tmp_path, Service(0), Pairs(1, 1))
    compare_interleaved_trials(trial("exit 3", tmp_path), trial("true", tmp_path), Service(), pairs=Pairs(1, 1))
    assert os.sched_getscheduler(0) == before


def test_the_number_of_pairs_follows_the_workload(tmp_path: Path) -> None:
    def pairs(metrics: dict[str, object], fixed: int | None = None, **general: object) -> Pairs:
        document = {"workload": {"name": "w", **general}, "run": {"command": ["x"]}, "metrics": metrics}
        return Pairs.from_workload(Workload.model_validate(document), fixed)

    assert pairs({}) == Pairs(2, 400)
    assert pairs({"precision": {"throughput": 3}}) == Pairs(16, 400)
    assert pairs({"judge": ["throughput"]}) == Pairs(16, 400)
    assert pairs({}, max_samples=5) == Pairs(2, 5)
    assert pairs({}, 7) == Pairs(7, 7)


@pytest.mark.parametrize("is_same", [True, False])
def test_further_builds_and_other_places_count_only_in_the_environment_of_the_comparison(
    is_same: bool, tmp_path: Path
) -> None:
    base, head = (trial("true", tmp_path) for _ in range(2))
    bench = Bench(Host(name="host"), lambda _: Environment(settings={} if is_same else {"thp.enabled": "always"}))
    later = Trial(base.workload, base.subject, bench, tmp_path)
    needs = [{"needs_other_place": True}, {"needs_other_builds": True}, {}]

    def decide(_: ComparisonRequest) -> Comparison:
        return Comparison(verdict=Verdict.CHANGED, remaining_pairs=0, metrics=(), settings=(), **needs.pop(0))  # type: ignore[arg-type]

    def compare() -> ComparisonResult:
        return compare_interleaved_trials(
            base,
            head,
            decide,
            pairs=Pairs(2, 2),
            build_further_trials=lambda _: (later, later),
            build_base_in_head_folder=lambda: nullcontext(later),
        )

    assert (compare().base.other_place is not None) is is_same
    if not is_same:
        assert not compare().base.other_builds


def test_the_last_decision_stands_if_a_further_build_is_damaged(tmp_path: Path) -> None:
    base, head = (trial("true", tmp_path) for _ in range(2))
    (tmp_path / "build" / "tree").mkdir(parents=True)
    (tmp_path / "build" / RECORD_FILE).touch()  # A power cut can leave it empty.
    damaged = trial("true", tmp_path / "build" / "tree")
    decision = Comparison(verdict=Verdict.CHANGED, remaining_pairs=0, metrics=(), settings=(), needs_other_builds=True)
    done = compare_interleaved_trials(
        base, head, lambda _: decision, pairs=Pairs(2, 2), build_further_trials=lambda _: (damaged, damaged)
    )
    assert done.comparison == decision
    assert not done.base.other_builds
