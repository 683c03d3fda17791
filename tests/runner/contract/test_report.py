from __future__ import annotations

import pytest

from runner.contract.base import Parameter
from runner.contract.report import Case, Stage


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [(1, 1, True), (1, True, False), (1, 1.0, False), (0, False, False), (4, "4", True), (True, "true", True)],
)
def test_two_cases_are_one_point_if_the_program_gets_the_same_texts(
    one: Parameter, other: Parameter, is_same: bool
) -> None:
    cases = [
        Case(workload="copy", definition=f"{digit:016}", parameters={"mib": value})
        for digit, value in enumerate((one, other))
    ]
    assert cases[0].is_point_of(cases[1]) == is_same
    assert (cases[0].name == cases[1].name) == is_same


def test_each_stage_has_a_name_that_can_fail_in_a_sentence() -> None:
    assert [stage.noun for stage in Stage] == ["checkout", "build", "run", "measurement"]
