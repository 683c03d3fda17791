"""Which runs a plan contains, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Outcome, Reason
from service.rules.plan.reruns import MAX_RERUNS
from service.rules.plan.run_plan import Orders, make_plan
from tests.service.reports import CASE, JEMALLOC, OTHER_CASE, commit, plan_request
from tests.service.rules.plan.made_plans import POSITIONS, ordered, stored


def test_with_nothing_stored_everything_is_missing() -> None:
    made = make_plan(plan_request(1, 2, 3), POSITIONS, {})
    assert [run.revision for run in made.runs] == [commit(1), commit(2), commit(3)]
    assert {run.reason for run in made.runs} == {Reason.MISSING}
    assert (made.stored, made.note) == (0, "")


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
