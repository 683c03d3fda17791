from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Environment, Outcome, Reason
from service.rules.reruns import MAX_RERUNS
from service.rules.run_plan import (
    MAX_ATTEMPTS,
    Orders,
    StoredRun,
    make_plan,
)
from tests.service.reports import CASE, GLIBC, JEMALLOC, OTHER_CASE, commit, plan_request

POSITIONS = {commit(number): number for number in range(1, 31)}


def stored(*numbers: int, environment: Environment = GLIBC, outcome: Outcome = Outcome.MEASURED) -> list[StoredRun]:
    return [StoredRun(commit(number), environment.hash, outcome) for number in numbers]


def planned(request: object, runs: dict[int, list[StoredRun]]) -> list[tuple[int, str]]:
    made = make_plan(request, POSITIONS, runs)  # type: ignore[arg-type]
    return [(int(run.revision, 16), run.reason.value) for run in made.runs]


def test_with_nothing_stored_everything_is_missing() -> None:
    made = make_plan(plan_request(1, 2, 3), POSITIONS, {})
    assert [run.revision for run in made.runs] == [commit(1), commit(2), commit(3)]
    assert {run.reason for run in made.runs} == {Reason.MISSING}
    assert (made.stored, made.note) == (0, "")


def test_what_is_stored_is_not_measured_again_even_where_it_failed() -> None:
    runs = stored(1, 3) + stored(2, outcome=Outcome.FAILED)
    made = make_plan(plan_request(1, 2, 3, 4), POSITIONS, {0: runs})
    assert [run.revision for run in made.runs] == [commit(4)]
    assert (made.stored, made.stored_failures) == (3, 1)


def test_a_failure_whose_reason_may_have_passed_is_planned_again_a_few_times() -> None:
    def attempts(number: int, temporary: bool = True) -> dict[int, list[StoredRun]]:
        return {0: [replace(run, temporary=temporary) for run in stored(*[2] * number, outcome=Outcome.FAILED)]}

    assert planned(plan_request(2), attempts(1)) == [(2, "missing")]
    assert planned(plan_request(2), attempts(MAX_ATTEMPTS - 1)) == [(2, "missing")]
    assert planned(plan_request(2), attempts(MAX_ATTEMPTS)) == []
    assert planned(plan_request(2), attempts(1, temporary=False)) == []
    assert planned(plan_request(2), {0: attempts(1)[0] + stored(2)}) == []


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SKIPPED])
def test_on_request_every_failure_is_planned_again_and_nothing_that_was_measured(outcome: Outcome) -> None:
    runs = stored(1) + stored(2, outcome=outcome)
    again = plan_request(1, 2).model_copy(update={"retry_failed": True})
    assert planned(again, {0: runs}) == [(2, "missing")]
    assert planned(again, {0: runs + stored(2)}) == []


def test_in_a_new_environment_the_last_measured_revision_comes_first() -> None:
    runs = stored(1, 2, 3) + stored(4, outcome=Outcome.FAILED)
    assert planned(plan_request(5, 6, environment=JEMALLOC), {0: runs}) == [
        (3, "anchor"),
        (5, "missing"),
        (6, "missing"),
    ]
    assert make_plan(plan_request(5, environment=JEMALLOC), POSITIONS, {0: runs}).note


def test_where_the_last_revision_was_measured_in_both_no_anchor_is_needed() -> None:
    runs = stored(1, 2, 3) + stored(3, environment=JEMALLOC)
    assert planned(plan_request(4, environment=JEMALLOC), {0: runs}) == [(4, "missing")]


def test_a_revision_that_is_asked_for_anyway_is_its_own_anchor() -> None:
    assert planned(plan_request(3, 4, environment=JEMALLOC), {0: stored(1, 2, 3)}) == [(3, "missing"), (4, "missing")]


def test_an_anchor_that_failed_in_this_environment_is_not_tried_again() -> None:
    runs = stored(1, 2, 3) + stored(3, environment=JEMALLOC, outcome=Outcome.FAILED)
    assert planned(plan_request(4, environment=JEMALLOC), {0: runs}) == [(2, "anchor"), (4, "missing")]


def test_revisions_after_the_first_missing_one_are_no_anchors() -> None:
    assert planned(plan_request(4, environment=JEMALLOC), {0: stored(5, 6)}) == [(4, "missing")]


def test_nothing_to_measure_needs_no_anchor() -> None:
    runs = stored(1, 2) + stored(2, environment=JEMALLOC)
    assert planned(plan_request(2, environment=JEMALLOC), {0: runs}) == []


def test_all_cases_of_a_revision_follow_each_other() -> None:
    made = make_plan(plan_request(2, 1, 1, cases=(CASE, OTHER_CASE, CASE)), POSITIONS, {0: stored(1)})
    assert [(run.revision, run.case) for run in made.runs] == [
        (commit(1), OTHER_CASE),
        (commit(2), CASE),
        (commit(2), OTHER_CASE),
    ]
    assert made.stored == 1


numbers = st.lists(st.integers(1, 30), unique=True)


@given(
    requested=numbers,
    here=numbers,
    failed=numbers,
    elsewhere=numbers,
    failed_elsewhere=numbers,
)
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(
    requested: list[int], here: list[int], failed: list[int], elsewhere: list[int], failed_elsewhere: list[int]
) -> None:
    runs = (
        stored(*here)
        + stored(*failed, outcome=Outcome.FAILED)
        + stored(*elsewhere, environment=JEMALLOC)
        + stored(*failed_elsewhere, environment=JEMALLOC, outcome=Outcome.FAILED)
    )
    request = plan_request(*requested)
    made = make_plan(request, POSITIONS, {0: runs})
    order = [POSITIONS[run.revision] for run in made.runs]
    assert order == sorted(set(order))
    missing = {POSITIONS[run.revision] for run in made.runs if run.reason is Reason.MISSING}
    assert missing == set(requested) - set(here) - set(failed)
    anchors = [POSITIONS[run.revision] for run in made.runs if run.reason is Reason.ANCHOR]
    assert len(anchors) <= bool(missing)
    assert all(anchor in set(elsewhere) - set(here) - set(failed) for anchor in anchors)
    assert make_plan(request, POSITIONS, {0: runs + stored(*order)}).runs == ()


def ordered(orders: Orders, runs: list[StoredRun], *numbers: int) -> list[tuple[int, str]]:
    made = make_plan(plan_request(*numbers), POSITIONS, {0: runs}, {0: orders})
    return [(int(run.revision, 16), run.reason.value) for run in made.runs]


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


@pytest.mark.parametrize("outcome", [Outcome.MEASURED, Outcome.FAILED])
def test_a_doubtful_newest_run_is_measured_again_once_at_a_time_and_eight_times_at_most(outcome: Outcome) -> None:
    doubtful = Orders(in_doubt=True)
    runs = stored(1, 2, 3)
    for _ in range(8):
        assert ordered(doubtful, runs, 1, 2, 3) == [(3, "rerun")]
        runs += stored(3, outcome=outcome)
    assert ordered(doubtful, runs, 1, 2, 3) == []
    assert ordered(doubtful, runs, 1, 2, 3, 4) == [(4, "missing")]
    assert ordered(doubtful, runs + stored(4), 1, 2, 3, 4) == [(4, "rerun")]


def test_the_level_that_fewer_runs_show_is_measured_again_eight_times_at_most() -> None:
    young = Orders(in_doubt=True, revision_before=commit(1))
    assert ordered(young, stored(1, 2, 3)) == [(1, "rerun")]
    assert ordered(young, stored(1, *[1] * 8, 2, 3)) == [(3, "rerun")]
    assert ordered(young, stored(2, 3) + stored(1, environment=JEMALLOC)) == [(3, "rerun")]
    assert ordered(young, stored(1, 2, 3), 4) == [(4, "missing")]


def test_a_later_revision_tells_as_much_as_a_rerun() -> None:
    assert ordered(Orders(in_doubt=True), stored(1, 2), 3) == [(3, "missing")]


def test_another_environment_cannot_be_measured_again() -> None:
    assert ordered(Orders(in_doubt=True), stored(1, 2, environment=JEMALLOC)) == []


def test_on_a_host_that_was_replaced_the_last_revision_of_the_old_one_comes_first() -> None:
    elsewhere = Orders(measured_elsewhere=frozenset(commit(number) for number in (1, 2, 9)))
    assert ordered(elsewhere, [], 4, 5) == [(2, "cross_measurement"), (4, "missing"), (5, "missing")]
    assert ordered(elsewhere, stored(4), 5) == [(5, "missing")]


@given(
    requested=numbers, here=numbers, cross_measured=numbers, dividing=numbers, elsewhere=numbers, unsure=st.booleans()
)
def test_orders_come_to_an_end_and_no_revision_is_ordered_twice(
    requested: list[int],
    here: list[int],
    cross_measured: list[int],
    dividing: list[int],
    elsewhere: list[int],
    unsure: bool,
) -> None:
    orders = Orders(
        cross_measured_revisions=frozenset(map(commit, cross_measured)),
        dividing_revisions=frozenset(map(commit, dividing[:2])),
        in_doubt=unsure,
        revision_before=commit(min(here)) if here else None,
        measured_elsewhere=frozenset(map(commit, elsewhere)),
    )
    runs = stored(*here)
    for _ in range(4 * MAX_RERUNS + 2):
        planned = ordered(orders, runs, *requested)
        assert len({number for number, _ in planned}) == len(planned)
        runs += stored(*(number for number, _ in planned))
    assert ordered(orders, runs, *requested) == []
