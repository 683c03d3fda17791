"""The canary: how it is judged, on made-up counts, and what it counts on this machine."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runner.canary import count as module
from runner.canary.count import FAULT_KINDS, CanaryFaults, check_canary, count_canary
from runner.execution.compilation import compile_program
from runner.execution.process_variables import BASE_VARIABLES
from runner.perf.perf_stat import Execution
from runner.perf.program_failure import ExecutionFailure

EXPECTED = dict(zip(FAULT_KINDS, (1009, 211, 503, 3), strict=True))
TOGETHER = sum(EXPECTED.values())


class Counter:
    """Counts right, but for some faults too many in the next executions."""

    def __init__(self, *off: int, without: dict[str, str] | None = None) -> None:
        self._off: Iterator[int] = iter(off)
        self._without = without or {}
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, kinds: Sequence[str]) -> CanaryFaults:
        self.asked.append(tuple(kinds))
        expected = {kind: EXPECTED[kind] for kind in kinds if kind not in self._without}
        left_out = {kind: self._without[kind] for kind in kinds if kind in self._without}
        return CanaryFaults(expected, sum(expected.values()) + next(self._off, 0), left_out)


def test_a_right_count_needs_one_execution() -> None:
    faults = Counter()
    found = check_canary(faults)
    assert found.holds
    assert faults.asked == [FAULT_KINDS]
    assert (found.counts[0].expected, found.counts[0].counted) == (TOGETHER, (TOGETHER,))


def test_a_disturbance_is_forgiven_once_and_kept() -> None:
    found = check_canary(Counter(1))
    assert found.holds
    assert found.counts[0].counted == (TOGETHER + 1, TOGETHER, TOGETHER)


@pytest.mark.parametrize("off", [(1, 1, 1), (1, 0, 1), (1, -1, 0), (-1726, -1726, -1726)])
def test_a_host_that_counts_wrong_is_found_with_the_kind_it_is_wrong_in(off: tuple[int, ...]) -> None:
    found = check_canary(Counter(*off, 0, 7, 7, 7))
    assert not found.holds
    assert [count.kinds for count in found.counts] == [FAULT_KINDS, *((kind,) for kind in FAULT_KINDS)]
    assert [count.holds for count in found.counts] == [False, True, False, True, True]
    assert "file: 218, then 218, then 218 faults counted, 211 expected" in found.finding


def test_kinds_that_a_host_cannot_have_are_left_out_and_named() -> None:
    faults = Counter(2, without={"huge": "fragmented"})  # touched all the same: the first sum says nothing
    found = check_canary(faults)
    assert found.holds
    assert found.left_out == {"huge": "fragmented"}
    assert faults.asked == [FAULT_KINDS, FAULT_KINDS[:3]]


@pytest.mark.perf
def test_this_machine_counts_every_kind_exactly(tmp_path: Path) -> None:
    program = compile_program(module._SOURCE, tmp_path, headers=[module._HEADER])
    for kind in FAULT_KINDS:
        faults = module._count_faults(program, [kind])
        if faults.omission_reasons:
            assert kind in {"file", "huge"}, faults
            continue
        assert [faults.n_counted, faults.expected] == [EXPECTED[kind], {kind: EXPECTED[kind]}]


@pytest.mark.perf
def test_twenty_sessions_in_a_row_hold_at_the_first_try(tmp_path: Path) -> None:
    outcomes = [count_canary(tmp_path) for _ in range(20)]
    assert all(outcome.canary and outcome.canary.holds for outcome in outcomes), outcomes
    assert sum(len(outcome.canary.counts[0].counted) > 1 for outcome in outcomes if outcome.canary) <= 1


@pytest.mark.perf
def test_the_cost_of_a_fault_is_plausible(tmp_path: Path) -> None:
    canary = count_canary(tmp_path).canary
    assert canary
    # From fast machines to slow virtual ones: a fault cannot take less than 50 ns, nor as long as a read from storage.
    assert canary.seconds_per_fault
    assert 5e-8 < canary.seconds_per_fault < 1e-4


@pytest.mark.perf
def test_a_wrong_counter_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.count_faults

    def one_less(command: Sequence[str], **options: object) -> Execution:
        # As a host would that does not count one of the touched pages.
        done = real(command, **options)  # type: ignore[arg-type]
        reading = done.sample.readings["region:minor-faults"]
        assert reading.value
        done.sample.readings["region:minor-faults"] = reading.model_copy(update={"value": reading.value - 1})
        return done

    monkeypatch.setattr(module, "count_faults", one_less)
    found = count_canary(tmp_path).canary
    assert found
    assert not found.holds
    assert found.seconds_per_fault is None


def test_without_a_compiler_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BASE_VARIABLES, "PATH", str(tmp_path))  # type: ignore[arg-type]
    outcome = count_canary(tmp_path)
    assert outcome.canary is None
    assert outcome.problem == (
        "Faultwatch cannot check whether this host counts correctly: there is no C compiler (cc) to compile canary.c"
    )


def test_a_canary_that_dies_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> Execution:
        raise ExecutionFailure("`./canary` was terminated by SIGSEGV")

    monkeypatch.setattr(module, "count_faults", crash)
    assert "SIGSEGV" in count_canary(tmp_path).problem


def test_the_header_is_the_one_that_workloads_use() -> None:
    assert (
        module._HEADER.read_text() == (Path(__file__).parents[3] / "workloads/region/faultwatch_region.h").read_text()
    )
