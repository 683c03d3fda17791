"""A case with other settings, as the settings lab and a remedy measure it."""

from typing import Any

import pytest

from runner.campaigns.remedy_comparison import apply_parameters, build_remedy_trials
from runner.contract.report import Case
from runner.errors import FaultwatchError

CASE = Case(workload="w", definition="0" * 16, parameters={"mib": 8, "allocator": "glibc", "warm": True})


def test_the_run_names_the_value_of_a_parameter_and_keeps_its_type() -> None:
    changed = apply_parameters(
        CASE, {"parameter.allocator": "jemalloc", "mib": "16", "warm": "false", "variable.A": None}
    )
    assert changed.parameters == {"mib": 16, "allocator": "jemalloc", "warm": False}
    assert changed.definition == CASE.definition


def test_other_settings_leave_the_case_as_it_is() -> None:
    assert apply_parameters(CASE, {"thp": "always", "process.huge_pages": "never"}) == CASE


@pytest.mark.parametrize("setting", ["env.OMP_NUM_THREADS", "allocator", "parameter.mib"])
def test_a_setting_that_cannot_be_removed_is_refused_with_the_form_that_can(setting: str) -> None:
    unused: dict[str, Any] = dict.fromkeys(("repository", "builder", "workload", "bench"))
    with pytest.raises(FaultwatchError, match="cannot be removed") as refused:
        build_remedy_trials(**unused, case=CASE, revision="HEAD", settings={setting: None})
    assert "name it variable.NAME" in refused.value.remedy
