"""A search that is led over the API: its only state is what is stored."""

from __future__ import annotations

import random
import re
import uuid
from typing import Any

import pytest
from flask import Flask

from runner.contract import Failure, Reading, Sample, Stage
from runner.contract.other_builds import OtherBuild
from tests.service import reports
from tests.service.apiclient import Api

COMMITS = 20


def ask(api: Api, status: int = 200, **changes: Any) -> dict[str, Any]:
    request = {
        "subject": "demo",
        "host": {"name": "box"},
        "environment": reports.GLIBC.model_dump(mode="json"),
        "case": reports.CASE.model_dump(mode="json"),
        "metric": "minor-faults",
        "good": reports.commit(1),
        "bad": reports.commit(COMMITS),
    }
    answer = api.client.post("/api/v1/searches", json=request | changes)
    assert answer.status_code == status, answer.text
    document: dict[str, Any] = answer.json
    return document


@pytest.fixture
def api(app: Flask) -> Api:
    api = Api(app.test_client())
    api.put_revisions(*range(1, COMMITS + 1))
    return api


def test_a_search_goes_on_from_what_is_stored(api: Api) -> None:
    """Commit 13 adds a fault, and 12 and 9 do not build. Each question is asked as if it were the first."""
    asked: list[str] = []
    while (state := ask(api, prove=False))["answer"]["kind"] == "measure":
        assert state["stored_runs"] == len(asked)
        (commit,) = state["answer"]["commits"]
        number = int(commit, 16)
        api.send(
            reports.failed_build(number) if number in {9, 12} else reports.report(number, *[7 + (number >= 13)] * 2)
        )
        asked.append(commit)
    (culprit,) = state["answer"]["culprits"]
    assert culprit["commit"] == reports.commit(13)
    assert culprit["parent"] == reports.commit(11)
    assert culprit["candidates"] == [reports.commit(12), reports.commit(13)]
    assert (culprit["before"], culprit["after"]) == (7, 8)
    assert len(asked) == len(set(asked)) <= 9


def test_a_commit_that_failed_for_what_may_have_passed_is_measured_again(api: Api) -> None:
    full = Failure(stage=Stage.RUN, message="the disk is full", temporary=True)
    asked = []
    for attempt in range(4):
        asked.append(ask(api)["answer"].get("commits"))
        api.send(reports.report(1, failure=full, at=10 + attempt))
    assert asked[:3] == [[reports.commit(1)]] * 3
    assert asked[3] != [reports.commit(1)], "three attempts are enough"


def test_runs_of_other_environments_and_cases_say_nothing(api: Api) -> None:
    api.send(
        reports.report(1, 7, 7, environment=reports.JEMALLOC),
        reports.report(COMMITS, 9, 9, case=reports.OTHER_CASE),
    )
    assert ask(api)["stored_runs"] == 0
    assert ask(api)["answer"]["commits"] == [reports.commit(1)]


def test_ends_that_do_not_differ_are_refused_with_the_numbers(api: Api) -> None:
    api.send(reports.report(1, 7, 7), reports.report(COMMITS, 7, 7))
    refused = ask(api)["answer"]
    assert refused["kind"] == "refused"
    assert plain(refused["sentence"]) == "The two ends of the range do not differ: good 7 faults, bad 7 faults."


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def lead_a_varying_count(api: Api, step: int) -> tuple[dict[str, Any], int]:
    """Lead the search for a count that scatters by 6 faults, as that of a program with a garbage collector does.

    Commit 13 adds the step. Return the answer, and how many runs it took.
    """
    noise = random.Random(1)
    taken = 0

    def drawn(number: int, many: int) -> list[int]:
        return [round(noise.gauss(610, 6)) + step * (number >= 13) for _ in range(many)]

    while (answer := ask(api)["answer"])["kind"] in {"measure", "prove"}:
        taken += 1
        assert taken < 200, "it gives up"
        if answer["kind"] == "measure":
            number = int(answer["commits"][0], 16)
            api.send(reports.report(number, *drawn(number, 10), at=taken))
        else:
            sides, session = (int(answer[side], 16) for side in ("parent", "commit")), uuid.uuid4()
            api.send(*(reports.report(side, *drawn(side, 60), session=session, purpose="proof") for side in sides))
    return answer, taken


def test_a_search_that_can_prove_nothing_about_a_varying_count_says_so_and_gives_up(api: Api) -> None:
    answer, taken = lead_a_varying_count(api, 0)
    said = plain(answer["sentence"])
    assert re.match(r"Not proven: this metric varies by ±\d+(\.5)? faults between executions of one commit; ", said)
    assert "it is not certain that the two ends of the range differ" in said
    assert "Make the count repeatable, or search between commits that differ by more" in said
    assert taken <= 100


def test_a_step_of_a_varying_count_is_found_and_proven(api: Api) -> None:
    answer, taken = lead_a_varying_count(api, 30)
    (culprit,) = answer["culprits"]
    assert (culprit["commit"], culprit["proof"]["state"]) == (reports.commit(13), "stands")
    assert taken <= 30


def test_a_commit_that_is_not_known_is_a_problem(api: Api) -> None:
    problem = ask(api, status=422, bad="f" * 40)
    assert "Send them first" in problem["detail"]


def interleaved(number: int, value: int, session: uuid.UUID, *others: int) -> Any:
    """A run interleaved with another one, and what further builds of its revision counted."""
    builds = tuple(OtherBuild(counted={"minor-faults": count}) for count in others)
    return reports.report(number, *[value] * 30, session=session, other_builds=builds)


def test_a_culprit_is_proven_by_what_was_measured_in_turns(api: Api) -> None:
    api.send(*(reports.report(number, 7 + 20 * (number >= 13)) for number in (1, 12, 13, COMMITS)))
    wanted = ask(api)["answer"]
    assert (wanted["kind"], wanted["parent"], wanted["commit"]) == ("prove", reports.commit(12), reports.commit(13))
    assert wanted["precision"] is None
    session = uuid.uuid4()
    api.send(interleaved(12, 7, session), interleaved(13, 27, session))
    (culprit,) = ask(api)["answer"]["culprits"]
    assert culprit["proof"]["state"] == "stands"
    assert "30 of 30" in culprit["proof"]["sentence"]


@pytest.mark.parametrize(("base", "head", "proven"), [((), (), False), ((7, 7), (8, 8), True), ((8,), (7,), False)])
def test_a_small_step_is_proven_by_further_builds_of_both_commits(
    api: Api, base: tuple[int, ...], head: tuple[int, ...], *, proven: bool
) -> None:
    api.send(*(reports.report(number, 7 + (number >= 13)) for number in (1, 12, 13, COMMITS)))
    session = uuid.uuid4()
    api.send(interleaved(12, 7, session, *base), interleaved(13, 8, session, *head))
    answer = ask(api)["answer"]
    if proven:
        assert [culprit["proof"]["state"] for culprit in answer["culprits"]] == ["stands"]
    else:
        assert answer["kind"] == "refused"
        said = "two revisions' builds overlap|The change is certain only if further builds of both revisions show it"
        assert re.search(said, answer["sentence"])


def test_a_proof_that_fails_sends_the_search_on(api: Api) -> None:
    """One outlier run misled the search: interleaved 12 measures what 13 does."""
    api.send(*(reports.report(number, 7 + (number >= 13)) for number in (1, 12, 13, COMMITS)))
    session = uuid.uuid4()
    api.send(interleaved(12, 8, session), interleaved(13, 8, session))
    state = ask(api)["answer"]
    assert state["kind"] == "measure"
    (commit,) = state["commits"]
    assert 1 < int(commit, 16) < 12


def test_failed_proofs_of_earlier_searches_do_not_end_a_search_for_another_change(api: Api) -> None:
    """Single runs of the commits 1 to 8 were off by a fault, which pairs did not show. Commit 13 adds 500 faults."""
    for number in (1, 3, 5, 7):
        session = uuid.uuid4()
        api.send(reports.report(number, 7), reports.report(number + 1, 8))
        api.send(interleaved(number, 7, session), interleaved(number + 1, 7, session))
    api.send(*(reports.report(number, 7 + 500 * (number >= 13)) for number in (10, 12, 13, COMMITS)))
    for asked in ({"good": reports.commit(10)}, {"min_difference": 50}):
        answer = ask(api, **asked)["answer"]
        assert (answer["kind"], answer.get("commit")) == ("prove", reports.commit(13))
    assert ask(api)["answer"]["kind"] == "refused", "differences of one fault say nothing in this range"


def test_a_noisy_metric_is_proven_by_as_many_pairs_as_it_takes(api: Api) -> None:
    noise = random.Random(1)
    session: uuid.UUID | None = None

    def send(number: int, many: int = 1, commit: int | None = None) -> None:
        samples = [
            Sample(readings={"elapsed": Reading(value=2 + noise.gauss(0, 0.01) + 0.05 * (number >= 13))})
            for _ in range(many)
        ]
        api.send(reports.report(commit or number, samples=tuple(samples), session=session))

    while (state := ask(api, metric="elapsed")["answer"])["kind"] == "measure":
        send(int(state["commits"][0], 16))
    assert (state["kind"], state["commit"]) == ("prove", reports.commit(13))
    assert 1 < state["precision"] < 5, "what the step comes to, in percent"
    # A step that interleaved is not there rules its commit out, however sure the search was.
    session = uuid.uuid4()
    send(12, 60)
    send(12, 60, 13)
    other = ask(api, metric="elapsed")["answer"]
    assert other["kind"] == "measure" or other["commit"] != reports.commit(13)
    # What is newer counts.
    session = uuid.uuid4()
    send(12, 40)
    send(13, 40)
    (culprit,) = ask(api, metric="elapsed")["answer"]["culprits"]
    assert culprit["proof"]["state"] == "stands"
    assert culprit["after"] - culprit["before"] == pytest.approx(0.05, abs=0.02)


def test_what_a_bisect_measures_is_no_point_of_the_series(api: Api) -> None:
    """A search uses the runs; the drift stays the one that the history shows."""
    api.send(*(reports.report(number, *[7 + (number >= 13)] * 5) for number in (1, 2, COMMITS)))
    before = api.client.get("/api/v1/drifts").json
    assert [drift["previous_revision"] for drift in before["items"]] == [reports.commit(2)]
    while (state := ask(api, prove=False))["answer"]["kind"] == "measure":
        number = int(state["answer"]["commits"][0], 16)
        api.send(reports.report(number, *[7 + (number >= 13)] * 5, purpose="bisect"))
    assert [culprit["commit"] for culprit in state["answer"]["culprits"]] == [reports.commit(13)]
    api.send(reports.report(12, 7, 9, 7, purpose="proof"), reports.report(13, 8, 3, 8, purpose="proof"))
    assert api.client.get("/api/v1/drifts").json == before
    (series,) = [entry for entry in api.client.get("/api/v1/series").json["items"] if entry["metric"] == "minor-faults"]
    points = api.client.get(f"/api/v1/series/{series['id']}").json["points"]
    assert {int(point["revision"], 16) for point in points} == {1, 2, COMMITS}


def test_a_mixture_of_settings_that_failed_for_a_temporary_reason_is_measured_again(api: Api) -> None:
    after = reports.GLIBC.settings["aslr"] + "1"
    request = {
        "subject": "demo",
        "revision": reports.commit(1),
        "host": {"name": "box"},
        "environment": reports.GLIBC.model_dump(mode="json"),
        "case": reports.CASE.model_dump(mode="json"),
        "metric": "minor-faults",
        "settings": [{"name": "aslr", "before": reports.GLIBC.settings["aslr"], "after": after}],
    }

    def search() -> dict[str, Any]:
        document: dict[str, Any] = api.client.post("/api/v1/setting-searches", json=request).json
        return document

    api.send(reports.report(1, 7, 7, experimental=True))
    changed = reports.GLIBC.model_copy(update={"settings": reports.GLIBC.settings | {"aslr": after}})
    for attempt in range(3):
        state = search()
        assert (state["stored_runs"], state["answer"]["kind"]) == (1, "measure"), attempt
        assert state["answer"]["changed"] == ["aslr"]
        failure = Failure(stage=Stage.RUN, message="the host was busy", temporary=True)
        api.send(reports.report(1, environment=changed, failure=failure, experimental=True, at=attempt + 2))
    state = search()
    assert (state["stored_runs"], state["answer"]["kind"]) == (2, "refused")
