"""A bisect from the button on a drift's page to its result, with the runner's part played over the API."""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import sync_playwright
from werkzeug.test import TestResponse

from runner.contract import Host
from runner.contract.profile import Touch
from tests.e2e.browser import chromium, launched, served, watch
from tests.service.profiles import anatomy, profile
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read, visible

HERE = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
KNOWN = (0, 1, 2, 3, 9, 10)
HOSTILE = 6
"""The commit of a hostile title; it does not build here."""


def send_known(client: FlaskClient) -> None:
    history.send(client, [history.report(number, history.OLD) for number in KNOWN])


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    """A service that knows some commits before and some after the regression, and none between."""
    with application(tmp_path, send_known) as app:
        yield app.test_client()


class Runner:
    """Leads the search of a job, as a runner does."""

    def __init__(self, client: FlaskClient, job: int) -> None:
        self._client = client
        self._job = job
        self.lease = self.post("claim", host="lab-1")["lease"]
        self.measured: list[int] = []

    def post(self, verb: str, **body: Any) -> Any:
        answer = self._client.post(f"/api/v1/jobs/{self._job}/{verb}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json

    def ask(self) -> Any:
        first = history.report(0, history.OLD).model_dump(mode="json")
        asked = {name: first[name] for name in ("subject", "host", "environment", "case")}
        ends = {"good": history.commit(3), "bad": history.commit(9), "metric": "minor-faults"}
        return self._client.post("/api/v1/searches", json=asked | ends).json

    def measure(self, commit: str, session: uuid.UUID | None = None) -> None:
        number = next(number for number in range(14) if history.commit(number) == commit)
        report = history.report(history.BROKEN if number == HOSTILE else number, history.OLD)
        told = {"revision": history.revision(number), "session": session, "run_id": uuid.uuid4()}
        samples = report.samples * 10 if session else report.samples
        report = report.model_copy(update=told | {"samples": samples})
        answer = self._client.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"))
        assert answer.status_code == 201, answer.text
        self.measured.append(number)
        self.post("progress", lease=self.lease, measured=[str(report.run_id)], runs_left=2, sentence="Searching.")

    def lead(self) -> Any:
        while (state := self.ask())["answer"]["kind"] in {"measure", "prove"}:
            answer = state["answer"]
            session = uuid.uuid4() if answer["kind"] == "prove" else None
            for commit in (answer["parent"], answer["commit"]) if session else answer["commits"]:
                self.measure(commit, session)
        self.post("finish", lease=self.lease, outcome="done", sentence="It was found.", result=state)
        return state


def ordered(client: FlaskClient) -> int:
    drift = client.get("/api/v1/drifts?metric=minor-faults").json["items"][0]["id"]
    assert "Bisect this" in page(client, f"/drifts/{drift}")
    answer = client.post("/jobs", data={"drift": drift, "author": "Mara"}, headers=HERE)
    assert answer.status_code == 303, answer.text
    return int(answer.location.rpartition("/")[2])


def test_from_the_button_to_the_proof(client: FlaskClient) -> None:
    job = ordered(client)
    address = f"/bisects/{job}"
    assert "No run has been measured for this bisect yet." in read(client, address)
    runner = Runner(client, job)

    # Half-way: what is known so far is drawn, and what is to come is said.
    runner.measure(runner.ask()["answer"]["commits"][0])
    assert "About 2 more runs." in read(client, address)
    assert "the bisect searches for the commit" in read(client, address)

    state = runner.lead()
    assert state["answer"]["culprits"][0]["commit"] == history.commit(history.REGRESSION)
    text = read(client, address)
    assert f"Culprit 1 {history.commit(4)[:10]} {history.TITLES[4]}" in text
    assert "Change +16,384" in text
    assert (
        "It could also be this commit, which measurements in the range cannot distinguish from it: "
        + history.commit(HOSTILE)[:10]
        in text
    )
    assert "proven The commit was measured again, interleaved with its parent" in text
    assert f"6 commits, {2 + len(runner.measured)} runs, 2 of them stored before" in text
    assert "build failed: make ended with status 2" in text, "a commit that does not build is told with the reason"
    assert f"faultwatch bisect copy_service {history.commit(3)[:12]}..{history.commit(9)[:12]} --repo ." in text

    source = page(client, address)
    rows = source.count("<g><title>")
    assert rows == 2 + len(runner.measured), "each run is drawn"
    assert source.count('<line class="culprit"') == 2, "a page more, and the regression"

    document = client.get(f"{address}.json").json
    numbers = [one["number"] for one in document["measurements"]]
    assert numbers == [None, None, *range(1, len(runner.measured) + 1)]
    assert [one["proof"] for one in document["measurements"]][-4:] == [True] * 4
    assert {one["side"] for one in document["measurements"]} == {"before", "after", "between", "failed"}
    assert client.get(f"{address}.csv").text.count("\n") == 1 + len(numbers)
    # What was measured moves the drift to its commit, whose page leads here too.
    drifts = client.get("/api/v1/drifts?metric=minor-faults").json["items"]
    moved = next(one["id"] for one in drifts if one["revision"] == history.commit(history.REGRESSION))
    assert "Bisect 1 done It was found." in read(client, f"/drifts/{moved}")

    # Why it moves: the command that finds out, and once both sides are profiled what those show.
    told = f"faultwatch profile copy_service {history.commit(3)[:12]}..{history.commit(4)[:12]} --repo ."
    assert told in text
    for number, touched in ((3, 100), (4, 9000)):
        about = {"subject": history.SUBJECT, "revision": history.revision(number), "case": history.CASE}
        here = {"host": Host(name="lab-1"), "environment": history.OLD}
        one = profile(anatomy({Touch.FIRST: touched}), **about, **here)
        answer = client.put(f"/api/v1/profiles/{one.profile_id}", json=one.model_dump(mode="json"))
        assert answer.status_code == 201, answer.text
    text = read(client, address)
    assert "Why it drifted Full profiles" in text
    assert told not in text


def test_no_commit_without_a_standing_proof_is_headed_as_a_culprit(client: FlaskClient) -> None:
    state = Runner(client, ordered(client)).lead()
    proofs = [culprit["proof"] for culprit in state["answer"]["culprits"]]
    for number, verdict in enumerate(("open", "fails", None), 1):
        for culprit, proof in zip(state["answer"]["culprits"], proofs, strict=True):
            culprit["proof"] = proof | {"state": verdict} if verdict else None
        form = FORM | {"min_difference": str(number)}
        job = int(client.post("/bisects", data=form, headers=HERE).location.rpartition("/")[2])
        runner = Runner(client, job)
        runner.post("finish", lease=runner.lease, outcome="done", sentence="It may be these.", result=state)
        text = read(client, f"/bisects/{job}")
        assert "Suspect 1, not proven" in text
        assert "ulprit" not in text
        assert page(client, f"/bisects/{job}").count(">not proven: ") == 2, "in the picture, too"


def test_a_search_that_proves_nothing_says_so_in_the_head_of_its_page(client: FlaskClient) -> None:
    job = ordered(client)
    runner = Runner(client, job)
    said = "Not proven: this metric varies by ±14 faults between executions of one commit; the ends may be the same."
    state = runner.ask() | {"answer": {"kind": "refused", "sentence": said}}
    runner.post("finish", lease=runner.lease, outcome="done", sentence=said, result=state)
    text = read(client, f"/bisects/{job}")
    assert f"No commit was found. {said}" in text
    assert "ulprit" not in text


def test_a_drift_that_is_proven_is_not_to_be_proven_again(client: FlaskClient) -> None:
    Runner(client, ordered(client)).lead()
    items = client.get("/api/v1/drifts?metric=minor-faults").json["items"]
    proven = next(one["id"] for one in items if one["revision"] == history.commit(history.REGRESSION))
    text = read(client, f"/drifts/{proven}")
    assert "Proven by bisect 1" in text
    assert "only candidate" not in text
    assert "Prove this" not in text
    assert "Bisect this" not in text


def test_profiles_of_the_culprit_and_its_parent_are_ordered(client: FlaskClient) -> None:
    job = ordered(client)
    assert client.post(f"/bisects/{job}/profiles", headers=HERE).status_code == 404, "nothing is found yet"
    Runner(client, job).lead()
    unnamed = client.post(f"/bisects/{job}/profiles", data={"author": "M" * 101}, headers=HERE)
    assert unnamed.status_code == 422
    assert "Your name is too long: at most 100 characters are allowed." in seen(unnamed)
    answer = client.post(f"/bisects/{job}/profiles", data={"author": "Mara"}, headers=HERE)
    question = client.get(f"/api/v1{answer.location}").json["question"]
    assert (question["kind"], question["against"]) == ("profile", history.commit(3))
    assert (question["revision"], question["host"]) == (history.commit(4), "lab-1")


FORM = {
    "subject": "copyd",
    "case": history.CASE.name,
    "metric": "minor-faults",
    "good": history.commit(0)[:8],
    "bad": history.commit(9)[:8],
    "min_difference": "7.5",
    "author": "Mara",
}


def seen(answer: TestResponse) -> str:
    """Return what a reader sees of an answer."""
    return visible(answer.text)


def test_what_nobody_can_search_is_told_on_a_page(client: FlaskClient) -> None:
    assert "No bisect has been requested yet." in read(client, "/bisects")
    answer = client.post("/bisects", data={"subject": "copyd", "good": "--x", "author": "Mara"}, headers=HERE)
    assert answer.status_code == 422
    assert "Case is missing. The last good commit contains characters that are not allowed." in seen(answer)
    assert client.get("/bisects/7").status_code == 404


def test_a_range_is_searched_by_its_form(client: FlaskClient) -> None:
    answer = client.post("/bisects", data=FORM, headers=HERE)
    assert answer.location == "/bisects/1"
    question = client.get("/api/v1/jobs/1").json["question"]
    assert question["min_difference"] == 7.5
    assert (question["good"], question["bad"]) == (history.commit(0), history.commit(9)), "first digits are enough"
    assert f"{history.commit(0)[:10]}..{history.commit(9)[:10]}" in read(client, "/bisects")
    assert "Mara" in read(client, "/bisects/1")


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("subject", "nonsense", "There is no subject “nonsense”. The service knows copyd."),
        ("subject", "copid", "There is no subject “copid”. Did you mean copyd?"),
        ("case", "copy_servise[mib=8]", "There is no case “copy_servise[mib=8]” of copyd. Did you mean copy_service["),
        ("metric", "minor-fault", f"“minor-fault” of {history.CASE.name}. Did you mean minor-faults"),
        ("host", "lab-9", f"“lab-9” that has measured {history.CASE.name}. Did you mean lab-1"),
        ("good", "v1.0", "There is no commit v1.0 of copyd. Enter a tag, a branch, a date such as 2026-11-20, or at"),
        ("bad", "feedfeed", "There is no commit feedfeed of copyd"),
        ("bad", history.commit(0), "Both ends of the range are the same commit"),
        ("good", history.commit(12), "does not descend from"),
    ],
)
def test_nothing_is_queued_before_every_name_is_known(
    client: FlaskClient, field: str, value: str, sentence: str
) -> None:
    answer = client.post("/bisects", data=FORM | {field: value}, headers=HERE)
    assert answer.status_code == 422
    assert sentence in seen(answer)
    assert f'value="{value}"' in answer.text, "what was written stays"
    assert client.get("/api/v1/jobs").json["total"] == 0


def test_the_range_and_its_cost_are_shown_before_anything_is_queued(client: FlaskClient) -> None:
    history.name_commits(client, {"v1.0": 0, "v1.1": 9})
    text = read(client, "/bisects?" + urlencode(FORM | {"good": "v1.0", "bad": "v1.1"}))
    assert f"9 commits after {history.commit(0)[:10]} {history.TITLES[0]}, up to {history.commit(9)[:10]}" in text
    assert "4 of them were measured before" in text
    assert "2,239 faults → 18,624 faults on lab-1" in text
    # Both ends and four in between; a build took 1.25 s, a measurement 2 s: 6 × 3.25 s, and 4 s for the proof.
    assert "at most about 6 builds and measurements" in text
    assert "about 24 s on lab-1" in text.replace("\xa0", " ")
    assert client.get("/api/v1/jobs").json["total"] == 0

    chosen = {name: value for name, value in FORM.items() if name != "min_difference"} | {"good": "v1.0", "bad": "v1.1"}
    source = page(client, "/bisects?" + urlencode(chosen))
    previewed = re.search(r'name="previewed" value="([^"]+)"', source)
    assert previewed
    form = chosen | {"previewed": html.unescape(previewed[1])}
    changed = client.post("/bisects", data=form | {"bad": history.commit(3)}, headers=HERE)
    assert (changed.status_code, client.get("/api/v1/jobs").json["total"]) == (409, 0), "another range than was shown"
    assert "3 commits after" in seen(changed)
    assert client.post("/bisects", data=form, headers=HERE).location == "/bisects/1"
    question = client.get("/api/v1/jobs/1").json["question"]
    assert (question["good"], question["bad"]) == (history.commit(0), history.commit(9))


def test_a_preview_promises_no_cost_for_a_count_that_varies(client: FlaskClient) -> None:
    varied = [history.report(number, history.OLD) for number in (12, 13)]
    history.send(client, [history.with_faults(report, (607, 613, 610)) for report in varied])
    text = read(
        client, "/bisects?" + urlencode({name: value for name, value in FORM.items() if name != "min_difference"})
    )
    assert "This count varies by ±3 faults between executions of one commit" in text
    assert "if 10 runs at each end cannot tell the ends apart" in text
    assert "OMP_NUM_THREADS=1" in text
    assert "at most about" not in text


def test_a_preview_warns_of_ends_that_do_not_differ(client: FlaskClient) -> None:
    text = read(client, "/bisects?" + urlencode(FORM | {"bad": history.commit(3)}))
    assert "Both ends have the same level, 2,239 faults" in text


def test_the_form_is_completed_from_what_is_stored(client: FlaskClient) -> None:
    source = client.get("/bisects").text
    for name, choice in (("subject", "copyd"), ("metric", "minor-faults"), ("host", "lab-1")):
        listed = source.partition(f'<datalist id="known-{name}">')[2].partition("</datalist>")[0]
        assert f'<option value="{choice}">' in listed
    assert f'<option value="{history.commit(10)[:12]}">' in source
    history.name_commits(client, {"v1.0": 0})
    assert '<option value="v1.0">tag</option>' in client.get("/bisects").text


@pytest.mark.thorough
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")
def test_the_page_is_quiet_accessible_and_fits(client: FlaskClient) -> None:
    Runner(client, ordered(client)).lead()
    with sync_playwright() as playwright, launched(playwright) as browser, served(client.application) as address:
        watched = watch(browser.new_context(), address)
        for path in ("/bisects", "/bisects/1"):
            watched.sweep(path)
        watched.assert_quiet()
        # Each culprit's line ends where its own measurement is drawn.
        page = watched.open("/bisects/1")
        lines = page.locator(".search-picture .culprit").evaluate_all("all => all.map(one => one.x1.baseVal.value)")
        after = page.locator(".search-picture path.after").evaluate_all(
            "all => all.map(one => one.getBBox()).map(box => box.x + box.width / 2)"
        )
        assert lines == sorted(lines)
        assert any(abs(lines[-1] - x) < 1 for x in after)
