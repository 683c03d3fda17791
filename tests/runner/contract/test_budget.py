from __future__ import annotations

import pytest
from pydantic import ValidationError

from runner.contract.budget import is_over
from runner.contract.judging import Judging
from runner.contract.number_text import format_quantity


@pytest.mark.parametrize("budget", [f"{'9' * 5000} %", f"0.{'9' * 5000} %", 10**400])
def test_a_budget_too_large_to_be_compared_or_written_is_refused(budget: int | str) -> None:
    with pytest.raises(ValidationError, match="a budget is a number"):
        Judging(budgets={"elapsed": budget})


def test_a_very_large_budget_is_compared_and_written() -> None:
    largest = 10**308
    assert not is_over(Judging(budgets={"elapsed": largest}).budgets["elapsed"], 1, 2**64)
    assert format_quantity(largest, "s").endswith("\N{NO-BREAK SPACE}s")
    assert not is_over(Judging(budgets={"elapsed": f"{'9' * 300} %"}).budgets["elapsed"], 1, 2**64)
