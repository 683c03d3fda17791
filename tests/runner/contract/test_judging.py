from __future__ import annotations

import pytest

from runner.contract.judging import Judging

ASKED = Judging(judge=("sys-percent", "my:event"), precision={"throughput": 5})


@pytest.mark.parametrize(
    ("name", "history", "comparison"),
    [
        ("minor-faults", True, True),
        ("region:minor-faults", True, True),
        ("page-faults", False, False),
        ("elapsed", False, False),
        ("sys-percent", True, True),
        ("my:event", True, True),
        ("throughput", False, True),
    ],
)
def test_counts_and_what_the_workload_names_are_judged(name: str, history: bool, comparison: bool) -> None:
    assert (ASKED.is_judged_in_history(name), ASKED.decides_comparison(name)) == (history, comparison)


def test_a_metric_without_a_precision_has_the_usual_one() -> None:
    assert (ASKED.get_min_change("throughput"), ASKED.get_min_change("sys-percent")) == (5, 3)
    assert ASKED.requested == ("sys-percent", "my:event", "throughput")
