"""Several processes at once: what they come to together, and that each is counted by itself."""

from pathlib import Path

import pytest

from runner.contract.report import Reading, Sample, Status
from runner.measuring.process_totals import combine_processes
from runner.perf.perf_stat import count_processes
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.process_state import ProcessState


def sample(**readings: float) -> Sample:
    return Sample(readings={name.replace("_", "-"): Reading(value=value) for name, value in readings.items()})


def test_one_alone_stays_as_it_is_but_for_its_group() -> None:
    alone = sample(minor_faults=3)
    group = {"cgroup:pgfault": Reading(value=4)}
    assert combine_processes([alone], group).readings == alone.readings | group
    assert combine_processes([alone], group).processes == ()


def test_counts_add_up_the_slowest_decides_and_ratios_are_means() -> None:
    one = sample(minor_faults=3, elapsed=1.0, user_time=0.5, throughput=10.0, sys_percent=20.0, max_rss=100)
    two = sample(minor_faults=4, elapsed=1.5, user_time=0.25, throughput=8.0, sys_percent=40.0, max_rss=90)
    found = combine_processes([one, two], {})
    values = {name: reading.value for name, reading in found.readings.items()}
    assert values == {
        "minor-faults": 7,
        "elapsed": 1.5,
        "user-time": 0.75,
        "throughput": 18.0,
        "sys-percent": 30.0,
        "max-rss": 100,
    }
    assert found.processes == (one.readings, two.readings)


@pytest.mark.parametrize("status", [Status.NOT_COUNTED, Status.NOT_SUPPORTED])
def test_what_one_lacks_all_lack(status: Status) -> None:
    lacking = Sample(readings={"cycles": Reading(status=status, reason="why")})
    assert combine_processes([sample(cycles=5), lacking], {}).readings["cycles"] == lacking.readings["cycles"]


def test_an_estimate_among_counts_makes_an_estimate() -> None:
    guess = Sample(readings={"cycles": Reading(status=Status.MULTIPLEXED, value=7, running_percent=50)})
    found = combine_processes([sample(cycles=5), guess], {}).readings["cycles"]
    assert (found.status, found.value) == (Status.MULTIPLEXED, 12)


@pytest.mark.perf
def test_each_counts_what_it_counts_alone_and_all_start_at_once(tmp_path: Path) -> None:
    def run(processes: int) -> list[tuple[object, str]]:
        burst = count_processes(
            ["sh", "-c", "date +%s%N; sleep 0.2"],
            directory=tmp_path,
            state=ProcessState(huge_pages="never"),
            timeout=30,
            n_processes=processes,
        )
        return [(one.sample.readings["page-faults"].value, one.output) for one in burst.executions]

    run(1)
    alone = sorted(run(1)[0][0] for _ in range(3))[1]  # type: ignore[type-var]
    four = run(4)
    # A shell and its children; what others do to the page cache can move one of them by some faults.
    assert sorted(abs(faults - alone) for faults, _ in four)[1] <= 1  # type: ignore[operator]
    times = [int(output) for _, output in four]
    assert max(times) - min(times) < 200_000_000


@pytest.mark.perf
def test_one_that_fails_fails_all(tmp_path: Path) -> None:
    with pytest.raises(ExecutionFailure, match="exit code 3"):
        count_processes(
            ["sh", "-c", "mkdir first || exit 3"], directory=tmp_path, state=ProcessState(), timeout=30, n_processes=3
        )


def test_of_several_estimates_the_one_that_ran_the_shortest_is_named() -> None:
    samples = [
        Sample(readings={"cycles": Reading(status=Status.MULTIPLEXED, value=7, running_percent=percent)})
        for percent in (80, 20, 50)
    ]
    assert combine_processes(samples, {}).readings["cycles"].running_percent == 20
