"""How thinly a live process is recorded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.attach.recording_budget import (
    SECONDS_PER_FAULT,
    SECONDS_PER_STACK,
    SECONDS_PER_SWITCH,
    Rates,
    plan_recording,
)
from runner.profile.recording_plan import MAX_STACKS

RATES = st.builds(
    Rates,
    faults=st.floats(0, 3e6),
    switches=st.floats(0, 1e6),
    cpu=st.floats(1e-4, 128),
)


@given(RATES, st.floats(1, 3600), st.floats(0.001, 0.2), st.sampled_from(["dwarf", "fp"]))
def test_no_process_loses_more_than_its_share(rates: Rates, seconds: float, share: float, graph: str) -> None:
    budget = plan_recording(rates, seconds, share, graph)  # type: ignore[arg-type]
    price = SECONDS_PER_STACK[graph]
    cost = rates.faults * budget.address_seconds * SECONDS_PER_FAULT
    cost += rates.faults * budget.sampled_seconds / budget.sampled_period * SECONDS_PER_FAULT
    cost += price * rates.faults * budget.stack_seconds / budget.fault_period
    cost += price * rates.cpu * budget.stack_seconds * 1e9 / budget.clock_period
    cost += rates.switches * budget.switch_seconds * (SECONDS_PER_SWITCH + price / budget.switch_period)
    # One stack of each kind is always recorded, or there would be none.
    assert cost <= share * rates.cpu * seconds * 1.001 + 3 * price


@given(RATES, st.floats(1, 3600), st.floats(0.001, 0.2))
def test_the_times_lie_within_the_observation(rates: Rates, seconds: float, share: float) -> None:
    budget = plan_recording(rates, seconds, share, "dwarf")
    assert 0 <= budget.address_seconds <= 0.4 * seconds
    assert budget.switch_seconds <= budget.stack_seconds
    assert budget.address_seconds + budget.sampled_seconds + budget.stack_seconds == pytest.approx(seconds)
    assert budget.sampled_period >= 1
    assert rates.faults * budget.stack_seconds / budget.fault_period <= MAX_STACKS["dwarf"] * 1.001


def test_a_process_that_seldom_faults_is_recorded_without_gaps() -> None:
    budget = plan_recording(Rates(faults=200, switches=100, cpu=0.5), 30, 0.01, "dwarf")
    assert budget.address_seconds == 12
    assert budget.sampled_seconds == 0
    assert budget.fault_period <= 10
    assert budget.switch_seconds == budget.stack_seconds


def test_a_process_that_only_faults_is_recorded_for_a_moment() -> None:
    budget = plan_recording(Rates(faults=500_000, switches=100, cpu=1), 30, 0.01, "dwarf")
    assert budget.address_seconds == pytest.approx(0.12, rel=1e-3)
    assert budget.max_faults == pytest.approx(60_000, abs=1)
    assert budget.sampled_seconds == pytest.approx(12 - 0.12)
    assert budget.sampled_period == pytest.approx(297, abs=1)
