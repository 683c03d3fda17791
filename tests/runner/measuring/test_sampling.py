from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.report import Reading, Sample, Status
from runner.measuring.sampling import Sampling, compute_levels, mark_outliers
from runner.workload import Workload


def taken(*faults: int, **others: list[float]) -> list[Sample]:
    """Samples with minor faults, no major faults, and other metrics."""
    columns: Mapping[str, object] = {name.replace("_", "-"): values for name, values in others.items()}
    rows = []
    for index, count in enumerate(faults):
        values = {"minor-faults": count, "major-faults": 0} | {name: column[index] for name, column in columns.items()}  # type: ignore[index]
        rows.append(Sample(readings={name: Reading(value=value) for name, value in values.items()}))
    return rows


def needed(sampling: Sampling, faults: list[int]) -> int:
    """How many of some counts are taken."""
    number = 0
    while sampling.needs_more_samples(taken(*faults[:number])):
        number += 1
    return number


@pytest.mark.parametrize(
    ("faults", "number"),
    [
        ([7, 7, 7, 7], 2),
        ([7, 8, 7, 7], 3),
        ([8, 7, 7, 7], 3),
        ([7, 8, 9, 7, 7, 7], 5),
        ([7, 8, 7, 8, 7, 8], 3),
        (list(range(20)), 10),
    ],
)
def test_counts_are_taken_until_more_than_half_agree(faults: list[int], number: int) -> None:
    assert needed(Sampling(), faults) == number


def test_one_sample_is_enough_where_it_repeats_the_history() -> None:
    expected = {"minor-faults": 7, "major-faults": 0}
    assert needed(Sampling(expected=expected), [7, 7]) == 1
    assert needed(Sampling(expected=expected), [8, 8, 8]) == 2
    assert needed(Sampling(expected={"minor-faults": 7}), [7, 7]) == 2, "nothing is known of its major faults"


def test_a_doubt_about_what_the_history_shows_takes_all_samples() -> None:
    sure = Sampling(expected={"minor-faults": 7, "major-faults": 0}).sample_all_unless_expected()
    assert needed(sure, [7] * 10) == 1
    assert needed(sure, [8] * 10) == 10


def test_a_fixed_number_is_that_number_whatever_is_counted() -> None:
    workload = Workload.model_validate({"workload": {"name": "w"}, "run": {"command": ["x"]}})
    assert needed(Sampling.from_workload(workload, 5), [7] * 9) == 5
    assert needed(Sampling.from_workload(workload, 1), [7] * 9) == 1
    assert needed(Sampling.from_workload(workload, 4, {"minor-faults": 7, "major-faults": 0}), [7] * 9) == 4


def test_a_workload_that_wants_one_sample_gets_one() -> None:
    workload = Workload.model_validate({"workload": {"name": "w", "samples": 1}, "run": {"command": ["x"]}})
    assert needed(Sampling.from_workload(workload), [7] * 9) == 1


def test_the_ceiling_is_higher_where_precision_is_asked_for_and_never_below_the_least() -> None:
    def of(general: dict[str, object], metrics: dict[str, object]) -> Sampling:
        document = {"workload": {"name": "w"} | general, "run": {"command": ["x"]}, "metrics": metrics}
        return Sampling.from_workload(Workload.model_validate(document))

    assert of({}, {}).max_samples == 10
    assert of({}, {"precision": {"throughput": 3}}).max_samples == 100
    assert of({"max_samples": 7}, {"precision": {"throughput": 3}}).max_samples == 7
    assert of({"samples": 20}, {}).max_samples == 20


def test_a_noisy_metric_without_a_precision_does_not_steer() -> None:
    assert not Sampling().needs_more_samples(taken(7, 7, throughput=[1.0, 100.0]))


def test_a_noisy_metric_is_taken_until_its_median_is_known() -> None:
    sampling = Sampling(max_samples=100, precision={"throughput": 3})
    steady = [100.0 + 0.1 * (index % 7) for index in range(100)]
    wild = [100.0 + 40 * (index % 7) for index in range(100)]
    assert sampling.needs_more_samples(taken(*[7] * 7, throughput=steady))
    assert not sampling.needs_more_samples(taken(*[7] * 8, throughput=steady))
    assert sampling.needs_more_samples(taken(*[7] * 99, throughput=wild))
    assert not sampling.needs_more_samples(taken(*[7] * 100, throughput=wild)), "the ceiling"


def test_a_metric_that_this_machine_lacks_does_not_keep_on_sampling() -> None:
    lacking = [
        Sample(readings={"minor-faults": Reading(value=7), "cycles": Reading(status=Status.NOT_SUPPORTED)})
        for _ in range(2)
    ]
    assert not Sampling(precision={"cycles": 1}).needs_more_samples(lacking)
    assert not Sampling(precision={"throughput": 1}).needs_more_samples(lacking)


def test_a_program_without_any_count_ends_too() -> None:
    nothing = [Sample(readings={"minor-faults": Reading(status=Status.NOT_COUNTED)})] * 2
    assert not Sampling().needs_more_samples(nothing)


@given(st.lists(st.integers(0, 3), min_size=10, max_size=10), st.integers(1, 10), st.integers(0, 9))
def test_it_always_ends_between_least_and_ceiling(faults: list[int], min_samples: int, room: int) -> None:
    assert (
        min_samples <= needed(Sampling(min_samples, min(10, min_samples + room)), faults) <= min(10, min_samples + room)
    )


def marks(samples: list[Sample], name: str) -> list[bool]:
    return [sample.readings[name].outlier for sample in mark_outliers(samples)]


def test_an_outlier_is_kept_and_marked() -> None:
    samples = taken(7, 9, 7)
    assert marks(samples, "minor-faults") == [False, True, False]
    assert marks(samples, "major-faults") == [False] * 3
    assert [sample.readings["minor-faults"].value for sample in mark_outliers(samples)] == [7, 9, 7]
    assert compute_levels(samples) == {"minor-faults": 7, "major-faults": 0}


def test_nothing_is_marked_where_no_two_agree() -> None:
    assert marks(taken(7, 9), "minor-faults") == [False, False]
    assert marks(taken(7), "minor-faults") == [False]
    assert "minor-faults" not in compute_levels(taken(7, 9))


def test_a_time_far_off_is_marked_once_there_are_enough() -> None:
    times = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 3.0]
    assert marks(taken(*[7] * 8, elapsed=times), "elapsed") == [False] * 7 + [True]
    assert marks(taken(*[7] * 7, elapsed=times[1:]), "elapsed") == [False] * 7
    assert marks(taken(*[7] * 8, elapsed=[1.0] * 7 + [1.1]), "elapsed") == [False] * 8, "without spread nothing is far"


@given(st.lists(st.floats(-1e18, 1e18), min_size=1, max_size=20))
def test_marking_never_changes_a_value(values: list[float]) -> None:
    samples = taken(*[7] * len(values), elapsed=values)
    assert [one.readings["elapsed"].value for one in mark_outliers(samples)] == values
