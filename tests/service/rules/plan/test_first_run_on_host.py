"""With which revision a plan starts on a new host."""

from service.rules.plan.run_plan import Orders
from tests.service.reports import commit
from tests.service.rules.plan.made_plans import ordered, stored


def test_on_a_host_that_was_replaced_the_last_revision_of_the_old_one_comes_first() -> None:
    elsewhere = Orders(measured_elsewhere=frozenset(commit(number) for number in (1, 2, 9)))
    assert ordered(elsewhere, [], 4, 5) == [(2, "cross_measurement"), (4, "missing"), (5, "missing")]
    assert ordered(elsewhere, stored(4), 5) == [(5, "missing")]
