from __future__ import annotations

import random
from pathlib import Path

import pytest

from runner.contract import Report
from service.app import create_app
from service.config.settings import Config
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import GLIBC, JEMALLOC, commit

HEAVY = {"sys-percent": 40.0, "throughput": 1.8}
LIGHT = {"sys-percent": 3.0, "throughput": 11.7}


def story() -> list[Report]:
    """A regression, a commit that does not build before one page more, and an allocator that changed."""
    counts = {1: 100, 2: 100, 3: 5000, 4: 5000, 6: 5001, 7: 5001}
    measured = [
        reports.report(number, count, count, others=LIGHT if count == 100 else HEAVY)
        for number, count in counts.items()
    ]
    moved = [reports.report(number, 700, 700, environment=JEMALLOC) for number in (7, 8)]
    return [*measured, reports.failed_build(5), *moved]


def test_a_drift_tells_what_moved_where_why_and_what_it_cost(api: Api) -> None:
    before = [
        *reports.repeated(1, 100, 100, times=6, others=LIGHT),
        *reports.repeated(2, 100, 100, times=6, others=LIGHT),
    ]
    after = reports.repeated(3, 5000, 5000, times=6, others=HEAVY)
    api.send(*before, *after)
    (regression,) = api.drifts()
    (series,) = api.get("/series", metric="minor-faults")["items"]
    assert regression["id"]
    assert regression["evidence"]["sentence"]
    assert {**regression, "id": "", "evidence": {}, "rule": ""} == {
        "id": "",
        "series_id": series["id"],
        "subject": "demo",
        "host": "box",
        "case": "copy[mib=4]",
        "workload": "copy",
        "metric": "minor-faults",
        "unit": "faults",
        "kind": "count",
        "cause": "commit",
        "direction": "regression",
        "certainty": "single",
        "revision": commit(3),
        "title": "Change 3",
        "author": "Ada",
        "committed_at": "2025-01-04T12:00:00Z",
        "previous_revision": commit(2),
        "last_good": commit(2),
        "first_bad": commit(3),
        "candidates_known": True,
        "within_budget": False,
        "candidates": [{"commit": commit(3), "title": "Change 3", "author": "Ada"}],
        "before": 100,
        "after": 5000,
        "change": 4900,
        "percent": 4900.0,
        "rule": "",
        "evidence": {},
        "settings": [],
        "run_before": str(before[-1].run_id),
        "run_after": str(after[0].run_id),
        "environment_before": GLIBC.hash,
        "environment_after": GLIBC.hash,
        "companions": [
            {"metric": "sys-percent", "title": "System share", "unit": "%", "before": 3.0, "after": 40.0},
            {"metric": "throughput", "title": "Throughput", "unit": "operations/s", "before": 11.7, "after": 1.8},
        ],
        "price": None,
        "floor": None,
        "below_floor": False,
    }


def test_the_newest_commit_comes_first(api: Api) -> None:
    api.send(*story())
    assert [(drift["revision"], drift["cause"]) for drift in api.drifts()] == [
        (commit(7), "config"),
        (commit(6), "commit"),
        (commit(3), "commit"),
    ]


def test_a_commit_that_does_not_build_is_a_candidate_too(api: Api) -> None:
    api.send(*story())
    drift = api.drifts(cause="commit")[0]
    assert [candidate["commit"] for candidate in drift["candidates"]] == [commit(5), commit(6)]
    assert (drift["before"], drift["after"], drift["direction"]) == (5000, 5001, "regression")


def test_a_configuration_change_names_the_setting_and_no_commit(api: Api) -> None:
    api.send(*story())
    (drift,) = api.drifts(cause="config")
    assert drift["settings"] == [{"name": "allocator", "before": "glibc", "after": "jemalloc"}]
    assert (drift["candidates"], drift["direction"]) == ([], "improvement")
    assert drift["previous_revision"] == drift["revision"] == commit(7)


def test_drifts_are_filtered(api: Api) -> None:
    api.send(*story(), *[reports.report(n, c, c, case=reports.OTHER_CASE) for n, c in ((1, 10), (2, 11))])
    assert len(api.drifts()) == 4
    assert [drift["revision"] for drift in api.drifts(case=reports.OTHER_CASE.name)] == [commit(2)]
    assert api.drifts(subject="nobody") == []
    assert api.drifts(metric="major-faults") == []
    assert api.drifts(host="elsewhere") == []
    assert api.drifts(definition=reports.CASE.definition) == api.drifts()
    assert api.drifts(definition="f" * 16) == []
    assert api.get("/drifts", limit=1) == {"items": api.drifts()[:1], "total": 4, "limit": 1, "offset": 0}


def test_one_drift_by_its_name(api: Api) -> None:
    api.send(*story())
    for drift in api.drifts():
        assert api.get(f"/drifts/{drift['id']}") == drift


def test_a_list_folds_the_drifts_of_the_events_that_the_inbox_folds(api: Api) -> None:
    api.send(*story())  # one commit of two made one more fault: runs with the same bytes could differ by that
    folded = {drift["id"]: drift["below_floor"] for drift in api.drifts()}
    assert set(folded.values()) == {True, False}
    below = {event["id"] for event in api.get("/events", below_floor=True)["items"]}
    for name, is_below in folded.items():
        drift = api.get(f"/drifts/{name}")
        assert drift["below_floor"] is is_below is (abs(drift["change"]) == 1)
    assert len(below) == sum(folded.values())


def test_only_faults_are_flagged(api: Api) -> None:
    api.send(*[reports.report(n, 100, 100, others={"cycles": 10**n, "elapsed": 0.5 * n}) for n in range(1, 6)])
    assert api.drifts() == []


def test_a_zero_baseline_has_no_percent(api: Api) -> None:
    api.send(reports.report(1, 0, 0), reports.report(2, 4, 4))
    (drift,) = api.drifts()
    assert (drift["percent"], drift["change"]) == (None, 4)


def test_counts_stay_exact_beyond_what_a_float_holds(api: Api) -> None:
    api.send(reports.report(1, 2**63, 2**63), reports.report(2, 2**63 + 1, 2**63 + 1))
    (drift,) = api.drifts()
    assert (drift["before"], drift["after"], drift["change"]) == (2**63, 2**63 + 1, 1)
    assert [point["value"] for point in api.series()["points"]] == [2**63, 2**63 + 1]


def test_a_commit_measured_later_takes_the_blame_over(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    api.send(reports.report(1, 100, 100), reports.report(3, 150, 150))
    (coarse,) = api.drifts()
    assert [candidate["commit"] for candidate in coarse["candidates"]] == [commit(2), commit(3)]
    api.send(reports.report(2, 150, 150, at=9))
    assert [drift["revision"] for drift in api.drifts()] == [commit(2)]
    assert api.client.get(f"/api/v1/drifts/{coarse['id']}").status_code == 404


def test_commits_that_become_known_later_become_candidates(api: Api) -> None:
    api.send(reports.report(1, 100, 100), reports.report(3, 150, 150))
    api.put_revisions(1, 2, 3)
    (drift,) = api.drifts()
    assert [candidate["commit"] for candidate in drift["candidates"]] == [commit(2), commit(3)]


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_arrival_changes_nothing(tmp_path: Path, seed: int) -> None:
    def told(sent: list[Report], home: str) -> list[dict[str, object]]:
        config = Config.from_environment({"FAULTWATCH_HOME": str(tmp_path / home)})
        api = Api(create_app(config).test_client())
        api.send_each(*sent)
        return [
            {name: value for name, value in drift.items() if name not in {"id", "series_id"}} for drift in api.drifts()
        ]

    sent = story()
    shuffled = list(sent)
    random.Random(seed).shuffle(shuffled)
    assert told(shuffled, "shuffled") == told(sent, "sent")
