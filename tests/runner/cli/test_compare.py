"""What a comparison shows while it measures."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from runner.cli.activity import Activity
from runner.cli.compare import _Session
from runner.contract.comparison import Comparison, ComparisonRequest, Verdict
from runner.measuring.comparison import Pairs
from tests.runner.sample_reports import report


@pytest.mark.parametrize(("base_stored", "shown"), [(False, "after 1 pair"), (True, "after 1 sample")])
def test_an_undecided_comparison_shows_how_much_was_measured(base_stored: bool, shown: str) -> None:
    undecided = Comparison(verdict=Verdict.NEEDS_MORE_RUNS, remaining_pairs=5, metrics=(), settings=())
    service = cast(Any, SimpleNamespace(compare=lambda _: undecided))
    activity = Activity("comparing")
    session = _Session(service, Pairs(min_pairs=2, max_pairs=6), 1, activity)
    session.decide(ComparisonRequest(base=report(1), head=report(2), base_stored=base_stored))
    assert activity.text.endswith(f"still undecided {shown}")
