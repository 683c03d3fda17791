import pytest

from runner.contract.report import Reading
from runner.work_reports.metric_formulas import derive_work_metrics
from runner.work_reports.work_done import WorkDone

READINGS = {"minor-faults": Reading(value=300), "major-faults": Reading(value=0)}


def test_faults_are_divided_by_the_operations() -> None:
    derived = derive_work_metrics(READINGS, WorkDone(100, 0.5))
    assert {name: reading.value for name, reading in derived.items()} == {"throughput": 200, "faults-per-operation": 3}


def test_a_rate_says_nothing_about_the_faults_of_an_operation_until_their_number_is_known() -> None:
    rate = WorkDone(2, 0.01, is_rate=True)
    assert {name: reading.value for name, reading in derive_work_metrics(READINGS, rate).items()} == {"throughput": 200}
    derived = derive_work_metrics(READINGS, rate.with_operations(150))
    assert derived["throughput"].value == pytest.approx(200)
    assert derived["faults-per-operation"].value == 2
