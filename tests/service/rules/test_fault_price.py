"""What a change of a fault count is worth: by a measured cost, or unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.fault_price import FaultCosts, Side, price_change

MICRO = 1e-6


def side(faults: int, *, cpu: float | None = 1.0, policy: str = "never", **levels: float) -> Side:
    return Side(faults, levels if cpu is None else {"task-clock": cpu, **levels}, {"process.huge_pages": policy})


def test_many_fewer_faults_that_win_no_time_read_as_that() -> None:
    price = price_change("page-faults", side(5_000), side(700), FaultCosts(host=0.5 * MICRO))
    assert price is not None
    assert price.seconds == pytest.approx(-4_300 * 0.5 * MICRO)
    assert price.share == pytest.approx(-0.00215)
    assert price.sentence == (
        "almost no CPU time: −2.15\N{NO-BREAK SPACE}ms (−0.215\N{NARROW NO-BREAK SPACE}%), "
        "at 500\N{NO-BREAK SPACE}ns per fault according to the host's canary"
    )


def test_more_faults_that_cost_time_say_how_much() -> None:
    price = price_change("minor-faults", side(2_000), side(502_000), FaultCosts(after=2 * MICRO, host=1.0))
    assert price is not None
    assert price.share == pytest.approx(1.0)
    assert price.sentence.startswith("+1\N{NO-BREAK SPACE}s of CPU time (+100\N{NARROW NO-BREAK SPACE}%)")
    assert price.source == "a profile of the case"


def test_the_price_of_a_count_that_varies_has_an_uncertainty() -> None:
    price = price_change("minor-faults", side(2_000), side(502_000), FaultCosts(host=2 * MICRO), spread=100_000)
    assert price is not None
    assert price.uncertainty == pytest.approx(0.2)
    said = price.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("+1 s ± 200 ms of CPU time (+100")
    assert said.endswith("per fault according to the host's canary; uncertain because the count varies")
    # What is smaller than the noise has no price.
    assert price_change("minor-faults", side(10), side(20), FaultCosts(host=MICRO), spread=14) is None


def test_two_faults_less_never_cost_time_although_two_profiles_of_one_cost_differ() -> None:
    costs = FaultCosts(before=1.65 * MICRO, after=1.85 * MICRO)  # of the same program, as measured
    price = price_change("page-faults", side(53_341), side(53_339), costs)
    assert price is not None
    assert price.seconds == pytest.approx(-2 * 1.75 * MICRO, rel=1e-4)
    assert price.sentence.startswith("almost no CPU time: −3.5\N{NO-BREAK SPACE}µs")


def test_the_few_faults_of_one_side_say_little_of_what_the_many_of_the_other_cost() -> None:
    costs = FaultCosts(before=2 * MICRO, after=8 * MICRO)
    price = price_change("page-faults", side(50_000, cpu=0.2), side(5_000), costs)
    assert price is not None
    assert price.fault_before == price.fault_after == pytest.approx((50_000 * 2 + 5_000 * 8) / 55_000 * MICRO)
    assert price.share == pytest.approx(-0.573, abs=0.001)


def test_a_change_saves_no_more_than_the_whole_cpu_time() -> None:
    assert price_change("page-faults", side(50_000, cpu=0.2), side(5_000), FaultCosts(host=5 * MICRO)) is None


def test_each_side_has_its_own_cost_where_their_pages_differ() -> None:
    # Huge pages: a hundredth of the faults, each twenty times as expensive.
    costs = FaultCosts(before=1 * MICRO, after=20 * MICRO)
    price = price_change("page-faults", side(100_000), side(1_000, policy="always"), costs)
    assert price is not None
    assert price.seconds == pytest.approx(0.02 - 0.1)
    assert 0.02 < price.uncertainty < 0.03
    said = price.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert said.startswith("−80 ms ± 25.5 ms of CPU time")
    uncertainty = "uncertain because the cost per fault differs between profiles of a program"
    assert said.endswith(f"according to profiles of both sides; {uncertainty}")
    # A hundred times as expensive: whether it wins or loses is not known, so nothing is said.
    costs = FaultCosts(before=1 * MICRO, after=100 * MICRO)
    assert price_change("page-faults", side(100_000), side(1_000, policy="always"), costs) is None


@pytest.mark.parametrize("change", [{"policy": "always"}, {"cgroup:thp_fault_alloc": 9.0}])
def test_one_cost_is_not_applied_to_pages_of_another_size(change: dict[str, str | float]) -> None:
    after = side(1_000, **change)  # type: ignore[arg-type]
    assert price_change("page-faults", side(100_000), after, FaultCosts(host=MICRO)) is None
    assert price_change("page-faults", side(100_000), after, FaultCosts(before=MICRO)) is None


def test_where_nothing_was_measured_there_is_no_price() -> None:
    assert price_change("page-faults", side(1), side(9), FaultCosts()) is None
    assert price_change("major-faults", side(1), side(9), FaultCosts(host=MICRO)) is None
    unknown = price_change("page-faults", side(1, cpu=None), side(9), FaultCosts(host=MICRO))
    assert unknown is not None
    assert unknown.share is None
    assert unknown.sentence.startswith("+8\N{NO-BREAK SPACE}µs of CPU time, at")


def test_a_region_is_priced_by_the_time_of_the_region() -> None:
    before = side(0, **{"region:task-clock": 0.1})
    price = price_change("region:page-faults", before, side(10_000), FaultCosts(host=MICRO))
    assert price is not None
    assert price.share == pytest.approx(0.1)


costs = st.none() | st.floats(1e-9, 1e-2)
counts = st.integers(0, 2**53)


@given(counts, counts, st.builds(FaultCosts, costs, costs, costs), st.none() | st.floats(1e-6, 1e6))
def test_the_price_has_the_sign_of_the_change(before: int, after: int, costs: FaultCosts, cpu: float | None) -> None:
    price = price_change("page-faults", side(before, cpu=cpu), side(after), costs)
    if price is None and (costs.before or costs.after or costs.host):
        assert after < before, "it would save more than the whole CPU time"
    assert price is None or costs.before or costs.after or costs.host
    if price and price.fault_before == price.fault_after:
        assert (price.seconds > 0) == (after > before)
        assert (price.seconds < 0) == (after < before)
