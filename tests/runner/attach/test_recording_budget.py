"""How thinly, and for how long, a live process is recorded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.attach.recording_budget import (
    BYTES_PER_CALL,
    SECONDS_PER_ATTACHED_SWITCH,
    SECONDS_PER_CALL,
    SECONDS_PER_FAULT,
    SECONDS_PER_STACK,
    SECONDS_PER_SWITCH,
    Rates,
    is_too_expensive,
    plan_recording,
    shorten_sampling,
)
from runner.profile.perf_record_options import MAX_STACKS

RATES = st.builds(
    Rates,
    faults=st.floats(0, 3e6),
    switches=st.floats(0, 1e6),
    cpu=st.floats(1e-4, 128),
)


@given(RATES, st.floats(1, 3600), st.floats(0.001, 0.2), st.sampled_from(["dwarf", "fp"]))
def test_no_process_loses_more_than_its_share(rates: Rates, seconds: float, share: float, graph: str) -> None:
    budget = plan_recording(rates, seconds, share, graph)  # type: ignore[arg-type]
    price, attached = SECONDS_PER_STACK[graph], SECONDS_PER_ATTACHED_SWITCH
    cost = rates.faults * budget.address_seconds * SECONDS_PER_FAULT
    cost += rates.faults * budget.sampled_seconds / budget.sampled_period * SECONDS_PER_FAULT
    cost += rates.switches * (budget.address_seconds + budget.sampled_seconds) * attached["addresses"]
    cost += budget.max_call_bytes / BYTES_PER_CALL * SECONDS_PER_CALL
    cost += price * rates.faults * budget.stack_seconds / budget.fault_period
    cost += price * rates.cpu * budget.stack_seconds * 1e9 / budget.clock_period
    cost += rates.switches * budget.stack_seconds * attached["stacks"]
    cost += rates.switches * budget.switch_seconds * (SECONDS_PER_SWITCH + price / budget.switch_period)
    cost += rates.switches * budget.switch_seconds * attached["switches"]
    # A moment and 300 sampled faults are always recorded, and one stack of each kind, or there would be none.
    switch_price = sum(attached.values()) + SECONDS_PER_SWITCH
    moment = 0.05 * (rates.faults * SECONDS_PER_FAULT + rates.switches * switch_price)
    moment += 0.05 * price * rates.cpu * 1e9 / budget.clock_period
    moment += 300 * SECONDS_PER_FAULT
    assert cost <= 1.01 * (share * rates.cpu * seconds + moment) + 3 * price


@given(RATES, st.floats(1, 3600), st.floats(0.001, 0.2))
def test_the_times_lie_within_the_observation(rates: Rates, seconds: float, share: float) -> None:
    budget = plan_recording(rates, seconds, share, "dwarf")
    assert 0 <= budget.address_seconds <= 0.4 * seconds
    times = (budget.address_seconds, budget.sampled_seconds, budget.switch_seconds, budget.stack_seconds)
    assert sum(times) <= seconds * 1.001
    assert budget.sampled_period >= 1
    assert rates.faults * budget.stack_seconds / budget.fault_period <= MAX_STACKS["dwarf"] * 1.001


@given(RATES, st.floats(1, 3600), st.floats(0.001, 0.2), st.floats(0.1, 10))
def test_enough_faults_are_sampled_even_if_less_time_is_left(
    rates: Rates, seconds: float, share: float, part_left: float
) -> None:
    budget = plan_recording(rates, seconds, share, "dwarf")
    sampled_seconds, period = shorten_sampling(budget, budget.sampled_seconds * part_left)
    assert sampled_seconds <= budget.sampled_seconds
    planned, sampled = rates.faults * budget.sampled_seconds / budget.sampled_period, rates.faults * sampled_seconds
    assert planned >= 0.99 * min(150, rates.faults * budget.sampled_seconds)  # One in 2 of 301 faults.
    assert min(0.66 * planned, 0.99 * sampled) <= sampled / period <= 1.51 * planned


def test_nothing_is_sampled_if_no_time_is_left() -> None:
    budget = plan_recording(Rates(faults=500_000, switches=100, cpu=1), 30, 0.01, "dwarf")
    assert shorten_sampling(budget, -0.1)[0] == 0


def test_a_process_that_seldom_faults_is_recorded_without_gaps() -> None:
    budget = plan_recording(Rates(faults=200, switches=100, cpu=0.5), 30, 0.01, "dwarf")
    assert budget.address_seconds == 12
    assert budget.sampled_seconds == 0
    assert budget.switch_seconds == 6
    assert budget.stack_seconds == 12
    assert budget.fault_period <= 10


def test_a_process_that_only_faults_is_recorded_for_a_moment() -> None:
    budget = plan_recording(Rates(faults=500_000, switches=100, cpu=1), 30, 0.01, "dwarf")
    assert budget.address_seconds == pytest.approx(0.06, rel=1e-2)
    assert budget.max_faults == pytest.approx(30_000, abs=1)
    assert budget.sampled_seconds == pytest.approx(12 - 0.06, rel=1e-2)
    assert budget.sampled_period == pytest.approx(596, rel=1e-2)


def test_a_server_that_switches_all_the_time_is_left_alone_for_most_of_it() -> None:
    """While perf is attached, each switch costs more, and a server that answers one client does nothing else."""
    budget = plan_recording(Rates(faults=10, switches=31_000, cpu=0.5), 30, 0.01, "dwarf")
    assert 0.5 < budget.address_seconds < 2
    assert 0.5 < budget.sampled_seconds < 2
    assert 0.05 < budget.switch_seconds < 0.2
    assert 0.3 < budget.stack_seconds < 0.5
    assert budget.clock_period <= 1_000_000


@given(RATES, st.floats(1, 3600), st.floats(0.001, 0.2))
def test_a_recording_as_planned_goes_on_and_one_of_a_busier_process_ends(
    rates: Rates, seconds: float, share: float
) -> None:
    budget = plan_recording(rates, seconds, share, "dwarf")
    cpu, price = rates.cpu * seconds, SECONDS_PER_STACK["dwarf"]
    planned = (
        price * (rates.faults / budget.fault_period + rates.cpu * 1e9 / budget.clock_period) * budget.stack_seconds
    )
    planned += rates.switches * budget.stack_seconds * SECONDS_PER_ATTACHED_SWITCH["stacks"]
    if budget.stack_seconds > 0.05 and planned > 3 * price:  # one stack of each kind is recorded at any price
        assert not is_too_expensive(planned, cpu, share, "stacks-attached", "faults", "clock")
    assert is_too_expensive(share * cpu, cpu, share, "stacks-attached", "faults", "clock")
