"""A case with other settings, as the settings lab and a remedy measure it."""

from runner.campaigns.remedy_comparison import apply_parameters
from runner.contract.report import Case

CASE = Case(workload="w", definition="0" * 16, parameters={"mib": 8, "allocator": "glibc", "warm": True})


def test_the_run_names_the_value_of_a_parameter_and_keeps_its_type() -> None:
    changed = apply_parameters(
        CASE, {"parameter.allocator": "jemalloc", "mib": "16", "warm": "false", "variable.A": None}
    )
    assert changed.parameters == {"mib": 16, "allocator": "jemalloc", "warm": False}
    assert changed.definition == CASE.definition


def test_other_settings_leave_the_case_as_it_is() -> None:
    assert apply_parameters(CASE, {"thp": "always", "process.huge_pages": "never"}) == CASE
