"""The machines of a pool make one series, are asked for no commit twice, and no machine is blamed for a commit."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import pytest

from runner.contract import ComparisonRequest, Environment, PlanRequest, Report
from runner.contract.pool import POOL_SETTING
from runner.contract.reused_counts import ReusedCounts
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import commit, plan_request

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def machine(cpu: str, pool: str = "ci") -> Environment:
    return Environment(settings={POOL_SETTING: pool, "cpu.model": cpu, "aslr": "0"})


X, Y, Z = machine("X"), machine("Y"), machine("Z")


def measured(environment: Environment, levels: Iterable[tuple[int, int]], times: int = 1) -> list[Report]:
    """Return runs of numbered commits with these counts."""
    return [
        run
        for number, faults in levels
        for run in reports.repeated(number, faults, faults, times=times, environment=environment)
    ]


def missing(api: Api, request: PlanRequest) -> list[str]:
    return [run.revision for run in api.plan(request).runs]


def prove(api: Api, other_count: int = 100) -> None:
    """Have the first three commits measured on both kinds of machines."""
    api.send(*measured(X, [(1, 100), (2, 100), (3, 100), (4, 100)]))
    api.send(*measured(Y, [(1, 100), (2, 100), (3, other_count)]))


def test_a_commit_that_another_machine_measured_is_not_measured_again(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4, 5)
    prove(api)
    assert missing(api, plan_request(3, 4, 5, environment=Y)) == [commit(5)]
    assert missing(api, plan_request(3, 4, 5, environment=Z)) == [commit(3), commit(4), commit(5)], "not proven"


def test_machines_that_count_differently_measure_for_themselves(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4, 5)
    prove(api, other_count=101)
    assert missing(api, plan_request(3, 4, 5, environment=Y)) == [commit(4), commit(5)]


def test_another_exact_count_that_differs_keeps_the_machines_apart(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4, 5)
    for environment, major in ((X, 0), (Y, 1)):
        for number in (1, 2, 3):
            api.send(reports.report(number, 100, 100, environment=environment, others={"major-faults": major}))
    api.send(reports.report(4, 100, 100, environment=X, others={"major-faults": 0}))
    assert missing(api, plan_request(3, 4, environment=Y)) == [commit(4)]


def test_a_drift_between_two_machines_is_of_the_commit(api: Api) -> None:
    prove(api)
    api.send(*measured(Y, [(5, 100), (6, 130)], times=6), *measured(X, [(7, 130)], times=6))
    (drift,) = api.drifts()
    assert (drift["cause"], drift["revision"]) == ("commit", commit(6))
    series = api.series()
    assert series["changes"] == [], "a chart has no line where only the machine changes"
    assert all(point["on_path"] for point in series["points"])


def test_counts_that_were_reused_prove_nothing_on_a_chart_either(api: Api) -> None:
    api.send(*measured(X, [(1, 100), (2, 100), (3, 100)]))
    first, second, third = measured(Y, [(1, 100), (2, 100), (3, 100)])
    origin = ReusedCounts(run_id=second.run_id, commit=second.revision.commit)
    api.send(first, second, third.model_copy(update={"reused": origin}))
    api.send(*measured(Y, [(4, 130)], times=6))
    assert "both" in {drift["cause"] for drift in api.drifts()}, "judging keeps the machines apart"
    (change,) = api.series()["changes"]
    assert [setting["name"] for setting in change["settings"]] == ["cpu.model"]


def test_a_pool_that_nothing_has_proven_is_judged_as_any_host(api: Api) -> None:
    api.send(*measured(X, [(1, 100), (2, 100)], times=6), *measured(Y, [(3, 130)], times=6))
    (drift,) = api.drifts()
    assert drift["cause"] == "both"


def test_a_host_that_is_no_pool_keeps_its_environments_apart(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4, 5)
    one, other = (Environment(settings={"cpu.model": cpu}) for cpu in "XY")
    api.send(*measured(one, [(1, 100), (2, 100), (3, 100), (4, 100)]), *measured(other, [(1, 100), (2, 100), (3, 100)]))
    assert missing(api, plan_request(4, 5, environment=other)) == [commit(4), commit(5)]


def test_pairs_that_one_machine_measured_prove_a_drift_between_two(api: Api) -> None:
    prove(api)
    api.send(*measured(X, [(5, 100)]), *measured(Y, [(6, 130)]))
    assert [drift["certainty"] for drift in api.drifts()] == ["provisional"]
    session = uuid.uuid4()
    base, head = (
        reports.report(number, *[level] * 20, environment=Y, session=session) for number, level in ((5, 100), (6, 130))
    )
    request = ComparisonRequest(base=base, head=head).model_dump(mode="json")
    answer = api.client.post("/api/v1/proofs", json=request)
    assert answer.json["verdict"] == "changed", answer.json
    assert [(drift["certainty"], drift["revision"]) for drift in api.drifts()] == [("proven", commit(6))]


@pytest.mark.parametrize("used", [X, Y])
def test_two_commits_measured_on_one_machine_differ_by_a_drift_of_the_pool(api: Api, used: Environment) -> None:
    prove(api)
    api.send(*measured(used, [(5, 100), (6, 130), (7, 130)], times=6))
    (drift,) = api.drifts()
    assert drift["revision"] == commit(6)
    (row,) = api.client.get(f"/compare.json?base={commit(5)}&head={commit(7)}").json["rows"]
    assert (row["verdict"]["verdict"], row["verdict"]["rule"]) == ("changed", "trend"), row["verdict"]["sentence"]
