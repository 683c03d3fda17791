"""Points land in the place that git's topology gives their commit, whenever they arrive: on every database."""

from __future__ import annotations

from itertools import permutations

import pytest

from runner.contract import Revision
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def order(api: Api, subject: str = "demo") -> list[str]:
    newest_first = api.get(f"/subjects/{subject}/revisions", limit=1000)["items"]
    return [one["title"].removeprefix("Change ") for one in reversed(newest_first)]


def values(api: Api) -> list[int]:
    return [point["value"] for point in api.series()["points"]]


def put(api: Api, *revisions: Revision) -> None:
    listed = [revision.model_dump(mode="json") for revision in revisions]
    assert api.client.put("/api/v1/subjects/demo/revisions", json={"revisions": listed}).status_code == 200


def test_results_that_arrive_out_of_order(api: Api) -> None:
    api.put_revisions(*range(1, 7))
    api.send_each(*(reports.report(number, level, level) for number, level in ((6, 200), (1, 100), (4, 200), (3, 100))))
    assert values(api) == [100, 100, 200, 200]
    assert api.series()["id"] == 1
    (drift,) = api.drifts()
    assert (drift["previous_revision"], drift["revision"]) == (reports.commit(3), reports.commit(4))
    (entry,) = api.get("/series")["items"]
    assert (entry["latest"], entry["n_points"]) == (200, 4)


def test_a_result_that_is_backfilled_moves_the_drift_to_its_commit(api: Api) -> None:
    api.put_revisions(*range(1, 7))
    api.send_each(*(reports.report(number, level, level) for number, level in ((1, 100), (2, 100), (5, 200), (6, 200))))
    assert len(api.drifts()[0]["candidates"]) == 3
    api.send_each(reports.report(4, 200, 200), reports.report(3, 100, 100))
    (drift,) = api.drifts()
    assert [candidate["commit"] for candidate in drift["candidates"]] == [reports.commit(4)]
    assert api.get("/series")["items"][0]["latest"] == 200


def test_commits_that_become_known_later_take_their_place(api: Api) -> None:
    api.send_each(reports.report(5, 200, 200), reports.report(2, 100, 100))
    assert values(api) == [100, 200]
    api.put_revisions(*range(1, 6))
    assert order(api) == ["1", "2", "3", "4", "5"]
    assert values(api) == [100, 200]


def test_dates_that_lie_do_not_move_a_commit(api: Api) -> None:
    early = reports.START.replace(year=2001)
    put(api, *(reports.revision(number) for number in (1, 2)), reports.revision(3, committed_at=early))
    assert order(api) == ["1", "2", "3"]


def test_a_branch_that_is_merged_lies_before_the_merge(api: Api) -> None:
    put(
        api,
        reports.revision(5, parents=[3, 4]),
        reports.revision(4, parents=[1]),
        reports.revision(3, parents=[2]),
        *(reports.revision(number) for number in (2, 1)),
    )
    assert order(api) == ["1", "2", "3", "4", "5"]
    api.send_each(*(reports.report(n, level, level) for n, level in ((5, 300), (1, 100), (2, 100), (3, 100))))
    assert values(api) == [100, 100, 100, 300]


def test_after_a_force_push_the_old_commits_keep_their_runs(api: Api) -> None:
    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, 100, 100) for number in (1, 2, 3)))
    put(api, reports.revision(12, parents=[1]), reports.revision(13, parents=[12]))
    rewritten = reports.report(13, 100, 100, revision=reports.revision(13, parents=[12]))
    api.send(rewritten)
    assert order(api) == ["1", "2", "3", "12", "13"]
    assert values(api) == [100] * 4
    assert api.drifts() == []


def test_the_event_of_a_dead_commit_moves_to_the_one_with_the_same_patch_id(api: Api) -> None:
    def rewrite(first: int, patches: str) -> str:
        """Put a branch of three commits with patches beside the others, measure it, and return its event."""
        numbers = [first, first + 1, first + 2]
        branch = [reports.revision(number, parents=[3 if number == first else number - 1]) for number in numbers]
        told = {
            "revisions": [revision.model_dump(mode="json") for revision in branch],
            "refs": [{"kind": "branch", "name": "work", "commit": branch[-1].commit}],
            "patches": {revision.commit: patch * 40 for revision, patch in zip(branch, patches, strict=True)},
        }
        assert api.client.put("/api/v1/subjects/demo/revisions", json=told).status_code == 200
        for number, revision, faults in zip(numbers, branch, (500, 900, 900), strict=True):
            api.send(reports.report(number, faults, faults, revision=revision))
        (event,) = api.get("/events", open=True)["items"]
        assert event["revision"] == branch[1].commit
        return str(event["id"])

    api.put_revisions(1, 2, 3)
    api.send(*(reports.report(number, 500, 500) for number in (1, 2, 3)))
    before = rewrite(4, "abc")
    assert rewrite(14, "abc") == before, "although its title is another"
    assert rewrite(24, "adc") != before
    stored = {one["commit"]: one["patch"] for one in api.get("/subjects/demo/revisions")["items"]}
    assert stored[reports.commit(15)] == "b" * 40


def test_parents_that_become_known_turn_the_order_and_the_newest_level(api: Api) -> None:
    cut_off = reports.revision(9, parents=[], committed_at=reports.START)
    api.send(
        reports.report(9, 300, 300, revision=cut_off),
        reports.report(2, 200, 200, revision=reports.revision(2, parents=[])),
    )
    assert values(api) == [300, 200]
    assert api.get("/series")["items"][0]["latest"] == 200
    put(api, reports.revision(9, parents=[2], committed_at=reports.START))
    assert values(api) == [200, 300]
    assert api.get("/series")["items"][0]["latest"] == 300


def test_the_order_does_not_depend_on_the_order_of_arrival(api: Api) -> None:
    """Commits that continue the history are placed without the others; a child that was there before them is not."""
    early = reports.START.replace(year=2001)
    history = [
        *(reports.revision(number) for number in (1, 2, 3)),
        reports.revision(4, parents=[2], committed_at=early),
        reports.revision(5, parents=[3, 4], committed_at=early),
        reports.revision(6, committed_at=early),
        reports.revision(7),
    ]
    put(api, *history)
    whole = order(api)
    for number, arrivals in enumerate(permutations(history[2:])):
        if number % 10 == 0:
            subject = f"subject-{number}"
            for sent in (history[:2], *([one] for one in arrivals)):
                listed = [revision.model_dump(mode="json") for revision in sent]
                answer = api.client.put(f"/api/v1/subjects/{subject}/revisions", json={"revisions": listed})
                assert answer.status_code == 200
            assert order(api, subject) == whole


def test_a_commit_whose_child_is_known_already_comes_before_it(api: Api) -> None:
    """The child came before all others, because its date lies and nobody knew its parent."""
    early = reports.START.replace(year=2001)
    put(api, reports.revision(4, committed_at=early))
    put(api, reports.revision(1), reports.revision(2))
    assert order(api) == ["4", "1", "2"]
    put(api, reports.revision(3))
    assert order(api) == ["1", "2", "3", "4"]
