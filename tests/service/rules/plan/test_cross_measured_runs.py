"""Which revisions a plan measures in another environment, or once more between two changes."""

from dataclasses import replace

from runner.contract import Outcome
from service.rules.plan.run_plan import Orders
from tests.service.reports import JEMALLOC, commit
from tests.service.rules.plan.made_plans import ordered, stored


def test_a_cross_measurement_is_ordered_until_it_is_made_or_has_failed() -> None:
    orders = Orders(cross_measured_revisions=frozenset({commit(2)}))
    assert ordered(orders, stored(3)) == [(2, "cross_measurement")]
    assert ordered(orders, stored(2, 3)) == []
    assert ordered(orders, stored(3) + stored(2, outcome=Outcome.FAILED)) == []
    assert ordered(orders, stored(3), 2) == [(2, "missing")]


def test_runs_that_may_divide_a_change_are_repeated_one_at_a_time_and_eight_times_at_most() -> None:
    orders = Orders(dividing_revisions=frozenset(map(commit, (2, 3, 7))))
    runs = stored(1, 2, 3, 3) + stored(7, environment=JEMALLOC)
    order = []
    while made := ordered(orders, runs):
        ((number, reason),) = made
        assert reason == "cross_measurement"
        order.append(number)
        runs += stored(number)
    assert order[:3] == [2, 2, 3]
    assert (order.count(2), order.count(3)) == (8, 7), "not in another environment, where 7 was measured"
    assert ordered(replace(orders, in_doubt=True), stored(1, 2)) == [(2, "cross_measurement")], "not twice"
