"""What a bisect policy allows, and how many runs a day."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.job import State
from service.rules.jobs.bisect_allowance import MAX_BISECTS_A_DAY, MAX_RUNS, count_allowed_runs
from service.rules.jobs.repeated_bisects import OrderedBisect
from service.schemas.triage import BisectPolicy
from tests.service.rules.jobs.made_bisects import NOW, ended


@pytest.mark.parametrize("policy", [BisectPolicy.OFF, BisectPolicy.ASK])
def test_the_service_orders_nothing_unless_it_is_wanted(policy: BisectPolicy) -> None:
    assert count_allowed_runs(policy, [], NOW, 200) == 0


@pytest.mark.parametrize(
    ("ordered", "runs"),
    [
        ([], MAX_RUNS),
        ([ended(State.DONE, runs=150)], 50),
        ([ended(State.DONE, runs=195)], 0),
        ([ended(State.DONE, runs=195, hours=25)], MAX_RUNS),
        ([ended(State.RUNNING, hours=99)], 0),  # one at a time
        ([ended(State.DONE)] * MAX_BISECTS_A_DAY, 0),
        ([ended()] * 3, 0),  # something is wrong with the host
        ([ended(), ended(), ended(State.DONE, hours=0.5)], MAX_RUNS),
    ],
)
def test_the_day_has_so_many_runs_and_bisects(ordered: list[OrderedBisect], runs: int) -> None:
    assert count_allowed_runs(BisectPolicy.DO, ordered, NOW, 200) == runs


@given(st.lists(st.builds(ended, st.sampled_from(State), hours=st.floats(0, 72), runs=st.integers(0, 300))))
def test_a_day_never_takes_more_runs_than_it_has(ordered: list[OrderedBisect]) -> None:
    allowed = count_allowed_runs(BisectPolicy.DO, ordered, NOW, 200)
    taken = sum(bisect.runs for bisect in ordered if bisect.created_at > NOW - timedelta(days=1))
    assert allowed == 0 or taken + allowed <= 200
