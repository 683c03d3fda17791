"""Which revisions a plan leaves out, because they were measured or failed."""

from dataclasses import replace

import pytest

from runner.contract import Outcome
from service.rules.plan.run_plan import make_plan
from service.rules.plan.settled_revisions import MAX_ATTEMPTS, StoredRun
from tests.service.reports import commit, plan_request
from tests.service.rules.plan.made_plans import POSITIONS, planned, stored


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
