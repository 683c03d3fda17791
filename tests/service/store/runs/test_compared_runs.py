"""A comparison that was just shown says what has arrived since: on every database."""

from __future__ import annotations

from typing import Any

import pytest

from runner.contract import RevisionList
from runner.contract.report import Ref
from service.store.runs import compared_runs
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import OTHER_CASE

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def compared(api: Api, base: int, head: int, more: str = "") -> list[dict[str, Any]]:
    address = f"/compare.json?base={reports.commit(base)}&head={reports.commit(head)}{more}"
    rows: list[dict[str, Any]] = []
    for _ in range(2):  # the second answer comes from memory
        answer = api.client.get(address)
        assert answer.status_code == 200, answer.text
        assert answer.json is not None
        assert rows in ([], answer.json["rows"])
        rows = answer.json["rows"]
    return rows


def test_it_has_the_runs_and_drifts_that_came_since(api: Api) -> None:
    api.send(*(reports.report(number, 100, 100) for number in (1, 2, 3)))
    (row,) = compared(api, 2, 3)
    assert (row["verdict"]["verdict"], row["verdict"]["head"]["level"]) == ("same", 100)
    api.send(reports.report(3, 150, 150, case=OTHER_CASE), reports.report(2, 100, 100, case=OTHER_CASE))
    assert sorted(row["verdict"]["head"]["level"] for row in compared(api, 2, 3)) == [100, 150]
    api.send(*(run for number in (4, 5) for run in reports.repeated(number, 140, 140, times=6)))
    (moved,) = compared(api, 3, 4)
    assert (moved["verdict"]["verdict"], moved["verdict"]["rule"]) == ("changed", "trend")
    assert moved["run_base"] == next(row["run_head"] for row in compared(api, 2, 3) if row["case"] == moved["case"])


def test_of_a_commit_with_very_many_runs_the_newest_are_compared(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared_runs, "MAX_RUNS", 3)
    cases = (OTHER_CASE, reports.CASE)
    for case, faults in zip(cases, (150, 100), strict=True):
        api.send(*(run for number in (1, 2) for run in reports.repeated(number, faults, faults, case=case, times=3)))
    assert {row["verdict"]["head"]["level"] for row in compared(api, 1, 2)} == {100}


def test_its_order_and_its_selection_are_those_that_were_asked_for(api: Api) -> None:
    for case in (reports.CASE, OTHER_CASE):
        api.send(*(reports.report(number, 100, 100, case=case, others={"elapsed": number}) for number in (1, 2)))
    by_case = [row["case"] for row in compared(api, 1, 2, "&metric=all&sort=case")]
    assert by_case == sorted(by_case)
    by_metric = [row["verdict"]["metric"] for row in compared(api, 1, 2, "&metric=all&sort=metric")]
    assert by_metric == ["minor-faults", "elapsed"] * 2  # the metrics of a case stand together
    assert compared(api, 1, 2, "&metric=elapsed&show=changed") == []
    assert len(compared(api, 1, 2, "&metric=elapsed")) == 2


def test_a_drift_on_another_branch_is_not_between_two_commits(api: Api) -> None:
    """Commit 8 of a release branch counts more; commits 9 and 10 follow commit 7 on the main branch."""
    parents = {8: [7], 9: [7]}
    revisions = {n: reports.revision(n, parents=parents.get(n, [n - 1] if n > 1 else [])) for n in range(1, 11)}
    refs = (Ref(kind="branch", name="release", commit=reports.commit(8)),)
    known = RevisionList(revisions=tuple(revisions.values()), refs=refs).model_dump(mode="json")
    assert api.client.put("/api/v1/subjects/demo/revisions", json=known).status_code == 200
    for number, revision in revisions.items():
        faults = 150 if number == 8 else 100
        api.send(*reports.repeated(number, faults, faults, times=4, revision=revision))
    assert [drift["revision"] for drift in api.drifts()] == [reports.commit(8)]

    def explain(base: int, head: int) -> str:
        (row,) = compared(api, base, head)
        return str(row["verdict"]["sentence"]).replace("\xa0", " ")

    assert explain(7, 10) == "The count is the same, and no drift between base and head is known."
    assert explain(7, 8) == f"There is a drift between base and head: +50 faults at {reports.commit(8)[:10]}."


def test_a_drift_between_commits_without_known_parents_is_found_by_their_order(api: Api) -> None:
    """They were imported without their repository, and the environment changes between them too."""
    levels = [(100, reports.GLIBC), (150, reports.GLIBC), (150, reports.JEMALLOC)]
    for number, (faults, environment) in enumerate(levels, start=1):
        revision = reports.revision(number, parents=[])
        api.send(*reports.repeated(number, faults, faults, times=6, revision=revision, environment=environment))
    (row,) = compared(api, 1, 3)
    sentence = str(row["verdict"]["sentence"]).replace("\xa0", " ")
    drift = f"+50 faults at a commit up to {reports.commit(2)[:10]}"
    assert sentence.startswith(f"There is a drift between base and head: {drift}")


def test_a_date_needs_no_subject_beside_a_commit_of_one_subject(api: Api) -> None:
    """Two subjects have a commit of the day; only one of them has the other side."""
    api.send(*(reports.report(number, 100, 100) for number in (1, 2)))
    elsewhere = reports.revision(1).model_copy(update={"commit": "e" * 40})
    api.send(reports.report(1, 90, 90, subject="elsewhere", revision=elsewhere))
    date = reports.revision(1).committed_at.date()
    for base, head in ((date, reports.commit(2)), (reports.commit(2), date)):
        sides = api.client.get(f"/compare.json?base={base}&head={head}").json
        assert [{side["subject"] for side in sides[name]} for name in ("base", "head")] == [{"demo"}] * 2
        assert sides["rows"], "both sides are known"
    both = api.client.get(f"/compare.json?base={date}&head={date}").json
    assert {side["subject"] for side in both["base"]} == {"demo", "elsewhere"}, "nothing says which one"
