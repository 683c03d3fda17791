"""Weak-scaling efficiency."""

from runner.contract.report import Reading, Report, Sample
from runner.measuring.weak_scaling import SCALING_EFFICIENCY, add_scaling_efficiency
from runner.workload import Workload, list_cases
from tests.service.reports import report

WORKLOAD = Workload.model_validate(
    {
        "workload": {"name": "w"},
        "run": {"command": "./w {size}", "processes": "{n}"},
        "matrix": {"n": [1, 4], "size": [1, 2]},
    }
)


def reports(*elapsed: float) -> list[Report]:
    return [
        report(1, 5).model_copy(
            update={"case": case, "samples": (Sample(readings={"elapsed": Reading(value=seconds)}),)}
        )
        for case, seconds in zip(list_cases(WORKLOAD), elapsed, strict=True)
    ]


def test_it_is_the_time_of_one_alone_over_that_of_all_at_the_same_other_parameters() -> None:
    one_small, one_large, four_small, four_large = reports(1.0, 2.0, 4.0, 2.5)
    others = [one_small, one_large]
    assert add_scaling_efficiency(four_small, others, WORKLOAD).list_values(SCALING_EFFICIENCY) == (0.25,)
    assert add_scaling_efficiency(four_large, others, WORKLOAD).list_values(SCALING_EFFICIENCY) == (0.8,)


def test_there_is_none_without_the_other_case() -> None:
    one_small, one_large, four_small, _ = reports(1.0, 2.0, 4.0, 2.5)
    assert add_scaling_efficiency(four_small, [one_large], WORKLOAD) is four_small
    assert add_scaling_efficiency(one_small, [one_small], WORKLOAD) is one_small
