"""Plans of made runs, for the tests of the choices that a plan consists of."""

from __future__ import annotations

from runner.contract import Environment, Outcome
from service.rules.plan.run_plan import Orders, make_plan
from service.rules.plan.settled_revisions import StoredRun
from tests.service.reports import GLIBC, commit, plan_request

POSITIONS = {commit(number): number for number in range(1, 31)}


def stored(*numbers: int, environment: Environment = GLIBC, outcome: Outcome = Outcome.MEASURED) -> list[StoredRun]:
    return [StoredRun(commit(number), environment.hash, outcome) for number in numbers]


def planned(request: object, runs: dict[int, list[StoredRun]]) -> list[tuple[int, str]]:
    made = make_plan(request, POSITIONS, runs)  # type: ignore[arg-type]
    return [(int(run.revision, 16), run.reason.value) for run in made.runs]


def ordered(orders: Orders, runs: list[StoredRun], *numbers: int) -> list[tuple[int, str]]:
    made = make_plan(plan_request(*numbers), POSITIONS, {0: runs}, {0: orders})
    return [(int(run.revision, 16), run.reason.value) for run in made.runs]
