from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.contract import Canary, CanaryCount, Environment, Failure, Host, Outcome, Reason, Stage
from service.pipeline import judging_schedule
from service.store.engine import deferred_work
from service.store.series import series
from service.web import app_resources, concurrency_limits
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import GLIBC, JEMALLOC, commit, plan_request

WRONG = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1010, 1009, 1010)),))


def test_what_was_stored_is_left_out(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4)
    api.send(reports.report(1, 100), reports.failed_build(2))
    plan = api.plan(plan_request(1, 2, 3, 4))
    assert ([one.revision for one in plan.runs], plan.stored) == ([commit(3), commit(4)], 2)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.SKIPPED])
def test_a_stored_failure_is_planned_again_if_its_reason_may_have_passed(outcome: Outcome, api: Api) -> None:
    api.put_revisions(1, 2)
    crashed, full = (
        Failure(stage=Stage.RUN, message=message, temporary=temporary)
        for message, temporary in (("it crashed", False), ("the disk is full", True))
    )
    api.send(reports.report(1, failure=crashed, outcome=outcome))
    planned = []
    for attempt in range(4):
        planned.append([one.revision for one in api.plan(plan_request(1, 2)).runs])
        api.send(reports.report(2, failure=full, outcome=outcome, at=10 + attempt))
    assert planned == [[commit(2)], [commit(2)], [commit(2)], []]
    again = api.plan(plan_request(1, 2).model_copy(update={"retry_failed": True}))
    assert [one.revision for one in again.runs] == [commit(1), commit(2)]


def test_runs_of_others_do_not_count(api: Api) -> None:
    api.put_revisions(1)
    api.send(
        reports.report(1, 1, case=reports.OTHER_CASE),
        reports.report(1, 1, host={"name": "other"}),
        reports.report(1, 1, subject="other"),
    )
    assert api.plan(plan_request(1)).stored == 0


def test_a_new_environment_starts_with_an_anchor(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    api.send(reports.report(1, 100), reports.report(2, 100))
    plan = api.plan(plan_request(3, environment=JEMALLOC))
    assert [(one.revision, one.reason) for one in plan.runs] == [(commit(2), "anchor"), (commit(3), "missing")]


def test_commits_that_were_not_sent_are_named(api: Api) -> None:
    api.put_revisions(1)
    request = plan_request(1, 2).model_dump(mode="json")
    answer = api.client.post("/api/v1/plans", json=request)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json["errors"]] == ["revisions.1"]
    assert "Send the commits first" in answer.json["detail"]


def told(api: Api, *numbers: int, environment: Environment = GLIBC) -> list[tuple[int, str]]:
    made = api.plan(plan_request(*numbers, environment=environment))
    return [(int(one.revision, 16), one.reason.value) for one in made.runs]


def cross_measured(api: Api, *numbers: int, environment: Environment = GLIBC) -> list[int]:
    return [number for number, reason in told(api, *numbers, environment=environment) if reason == "cross_measurement"]


def test_where_commit_and_environment_changed_at_once_both_are_cross_measured_and_told_apart(api: Api) -> None:
    api.send(*[reports.report(number, 100, 100) for number in (1, 2)])
    api.send(reports.report(3, 180, 180, environment=JEMALLOC))
    assert [drift["cause"] for drift in api.drifts()] == ["both"]
    (event,) = api.get("/events")["items"]
    (cross_measurement,) = api.get(f"/events/{event['id']}")["cross_measurements"]
    assert (cross_measurement["status"], cross_measurement["split"]) == ("ordered", None)
    assert cross_measured(api, 3, environment=JEMALLOC) == [2]
    assert cross_measured(api, 2) == [3]
    api.send(reports.report(2, 160, 160, environment=JEMALLOC, at=9))
    assert cross_measured(api, 3, environment=JEMALLOC) == []
    assert sorted((drift["cause"], drift["before"], drift["after"]) for drift in api.drifts()) == [
        ("commit", 160, 180),
        ("config", 100, 160),
    ]
    api.send(reports.report(3, 110, 110, at=10))
    cross_measurements = [
        c for event in api.get("/events")["items"] for c in api.get(f"/events/{event['id']}")["cross_measurements"]
    ]
    assert {(c["split"]["commit"], c["split"]["config"], c["split"]["interaction"]) for c in cross_measurements} == {
        (15, 65, 10)
    }


def measure_what_is_planned(api: Api, level: Callable[[int, Environment], int], environment: Environment) -> list[int]:
    """Measure the cross-measurements and reruns of an environment until none is planned; return them in order."""
    taken: list[int] = []
    while runs := [number for number, reason in told(api, environment=environment) if reason != "missing"]:
        assert len(taken) < 20, "it ends"
        for number in runs:
            faults = level(number, environment)
            api.send(reports.report(number, faults, faults, environment=environment, at=100 + len(taken)))
            taken.append(number)
    return taken


@pytest.mark.parametrize("order", ["anchor", "new in old", "old in new"])
def test_one_run_between_two_simultaneous_changes_is_repeated_until_it_divides_them(api: Api, order: str) -> None:
    """In a long history, the allocator adds 7 faults and commit 13 adds 20; one run shows one without the other."""

    def level(number: int, environment: Environment) -> int:
        return 1000 + 7 * (environment is JEMALLOC) + 20 * (number >= 13)

    api.put_revisions(*range(1, 17))
    api.send(*(reports.report(number, *[level(number, GLIBC)] * 2) for number in range(1, 13)))
    if order == "anchor":
        api.send(reports.report(12, 1007, 1007, environment=JEMALLOC, at=13))
    api.send(*(reports.report(number, 1027, 1027, environment=JEMALLOC, at=number + 10) for number in range(13, 17)))
    assert [drift["cause"] for drift in api.drifts()] == ["both"]
    environment = GLIBC if order == "new in old" else JEMALLOC
    assert len(measure_what_is_planned(api, level, environment)) <= 4
    assert {drift["cause"]: drift["change"] for drift in api.drifts()} == {"commit": 20, "config": 7}
    assert told(api, environment=environment) == []


def test_a_level_that_few_runs_of_an_older_environment_show_is_measured_again_where_it_was(api: Api) -> None:
    api.send(*(reports.report(number, 1000, 1000) for number in (1, 2)))
    api.send(*(reports.report(number, 1007, 1007, environment=JEMALLOC, at=number + 10) for number in range(2, 8)))
    (drift,) = api.drifts()
    assert (drift["cause"], drift["evidence"]["wants_rerun"]) == ("config", True)
    assert told(api, environment=JEMALLOC) == [(7, "rerun")]
    assert told(api) == [(2, "rerun")]
    assert set(measure_what_is_planned(api, lambda *_: 1000, GLIBC)) == {2}
    assert [drift["evidence"]["wants_rerun"] for drift in api.drifts()] == [False]
    assert told(api, environment=JEMALLOC) == []


def test_what_cannot_be_cross_measured_stays_both(api: Api) -> None:
    api.send(*reports.repeated(1, 100, 100, times=6), *reports.repeated(2, 180, 180, times=6, environment=JEMALLOC))
    api.send(reports.failed_build(1, environment=JEMALLOC, at=8), reports.failed_build(2, at=9))
    assert told(api, 2, environment=JEMALLOC) == told(api, 1) == []
    (event,) = api.get("/events")["items"]
    assert event["cause"] == "both"
    assert api.get(f"/events/{event['id']}")["cross_measurements"][0]["status"] == "impossible"


def test_a_cross_measurement_that_is_attempted_again_is_still_ordered(api: Api) -> None:
    def status() -> str:
        (event,) = api.get("/events")["items"]
        return str(api.get(f"/events/{event['id']}")["cross_measurements"][0]["status"])

    api.send(*reports.repeated(1, 100, 100, times=6), *reports.repeated(2, 180, 180, times=6, environment=JEMALLOC))
    full_disk = Failure(stage=Stage.RUN, message="the disk is full", temporary=True)
    for attempt in range(1, 4):
        assert (status(), cross_measured(api, 2, environment=JEMALLOC), cross_measured(api, 1)) == ("ordered", [1], [2])
        api.send(
            reports.report(1, environment=JEMALLOC, at=8 + attempt, failure=full_disk),
            reports.report(2, at=20 + attempt, failure=full_disk),
        )
    assert (status(), cross_measured(api, 2, environment=JEMALLOC), cross_measured(api, 1)) == ("impossible", [], [])


def test_a_doubtful_run_is_measured_again(api: Api) -> None:
    api.send(*[reports.report(number, 100) for number in range(1, 10)], reports.report(10, 150))
    (drift,) = api.drifts()
    if drift["evidence"]["wants_rerun"]:
        assert told(api, 10) == [(10, "rerun")]
        api.send(reports.report(10, 150, at=20))
    while again := told(api, 10):
        assert again == [(10, "rerun")]
        api.send(reports.report(10, 150, at=30))
    assert [drift["evidence"]["wants_rerun"] for drift in api.drifts()] == [False]


@pytest.fixture
def _nothing_is_judged_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_work, "QUIET_SECONDS", 600)


@pytest.mark.usefixtures("_nothing_is_judged_in_the_background")
def test_what_is_in_doubt_is_measured_again_at_once_though_series_are_long(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.send(*(reports.report(number, 100, 100) for number in (1, 2)))
    monkeypatch.setattr(judging_schedule, "MAX_POINTS", 2)
    api.send(reports.report(3, 150, 150), reports.report(3, 150, 150, host={"name": "other"}))
    assert api.drifts() == []
    assert told(api, 1, 2, 3) == [(3, "rerun")]
    with api.client.application.app_context(), app_resources.get_database().reading() as session:
        assert {one.n_points for one in series.map_stale_series(session).values()} == {1}, (
            "series of other hosts are left alone"
        )


@pytest.mark.usefixtures("_nothing_is_judged_in_the_background")
def test_what_is_in_doubt_is_measured_again_at_once_though_others_send_runs(api: Api) -> None:
    api.send(*(reports.report(number, 100, 100) for number in (1, 2)))
    with api.client.application.app_context(), concurrency_limits.find_admission().admit_request():
        api.send(reports.report(3, 150, 150))
    assert api.drifts() == []
    assert told(api, 1, 2, 3) == [(3, "rerun")]


def test_a_level_that_one_run_shows_is_measured_again_until_its_end_is_sure(api: Api) -> None:
    api.send(reports.report(1, 100), *[reports.report(number, 150) for number in range(2, 6)])
    again = []
    while planned := told(api, 5):
        ((number, reason),) = planned
        assert reason == "rerun"
        again.append(number)
        api.send(reports.report(number, 100 if number == 1 else 150, at=20 + len(again)))
    assert set(again) == {1, 5}
    assert len(again) <= 8
    (drift,) = api.drifts()
    assert (drift["evidence"]["wants_rerun"], int(drift["revision"], 16)) == (False, 2)


def test_a_revision_that_shows_both_levels_is_not_measured_again(api: Api) -> None:
    api.send(reports.report(1, 100), *[reports.report(number, 150) for number in range(2, 6)])
    assert told(api, 5) == [(1, "rerun")]
    api.send(reports.report(1, 150, at=20))
    assert (1, "rerun") not in told(api, 5)


def test_on_another_host_the_last_revision_of_the_old_one_is_measured_first(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    api.send(*[reports.report(number, 100, 100) for number in (1, 2)])
    replaced = plan_request(3).model_copy(update={"host": Host(name="new-box")})
    assert [(one.revision, one.reason) for one in api.plan(replaced).runs] == [
        (commit(2), Reason.CROSS_MEASUREMENT),
        (commit(3), Reason.MISSING),
    ]


def test_a_planned_run_says_which_counts_the_history_shows_before_it(api: Api) -> None:
    api.put_revisions(1, 2, 3, 4)
    api.send(reports.report(1, 100, 100, 99, others={"elapsed": 0.5}), reports.report(3, 120, 120))
    api.send(reports.report(2, 7, 7, canary=WRONG))
    expected = {int(one.revision, 16): dict(one.expected) for one in api.plan(plan_request(2, 4)).runs}
    assert expected == {2: {"minor-faults": 100}, 4: {"minor-faults": 120}}
    other = api.plan(plan_request(4, environment=JEMALLOC))
    assert all(one.expected == {} for one in other.runs)
