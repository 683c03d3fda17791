"""What changed between two releases, and the texts that name a commit."""

from __future__ import annotations

import html
import re
import uuid

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract import Host, RevisionList
from runner.contract.quarantine import Purpose
from runner.contract.report import Ref
from runner.contract.reused_counts import ReusedCounts
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import GLIBC, JEMALLOC, OTHER_CASE, commit
from tests.service.web.text import page, read

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)

REFS = (("tag", "v1.0", 2), ("tag", "v1.1", 8), ("branch", "origin/main", 9))


@pytest.fixture
def released(app: APIFlask) -> FlaskClient:
    """Nine commits: v1.0 is the second, v1.1 the eighth. Commit 4 adds 50 faults, 6 takes 20, the allocator adds 7."""
    api = Api(app.test_client())
    named = tuple(Ref(kind=kind, name=name, commit=commit(number)) for kind, name, number in REFS)  # type: ignore[arg-type]
    commits = tuple(reports.revision(number) for number in range(1, 10))
    sent = RevisionList(revisions=commits, refs=named).model_dump(mode="json")
    assert api.client.put("/api/v1/subjects/demo/revisions", json=sent).status_code == 200
    levels = {1: 100, 2: 100, 3: 100, 4: 150, 5: 150, 6: 130, 7: 130}
    runs = [run for number, level in levels.items() for run in reports.repeated(number, level, level, times=6)]
    runs += reports.repeated(7, 137, 137, times=6, at=20, environment=JEMALLOC)
    runs += [run for n in range(1, 8) for run in reports.repeated(n, 9, 9, times=2, case=OTHER_CASE, environment=GLIBC)]
    body = {"reports": [run.model_dump(mode="json") for run in runs]}
    assert api.client.post("/api/v1/runs", json=body).status_code == 200
    return api.client


def test_a_net_change_is_decomposed_into_its_commits_and_its_configuration(released: FlaskClient) -> None:
    found = released.get("/releases/v1.0...v1.1.json").json
    (change,) = found["changes"]
    assert (change["before"], change["after"], change["change"], change["rest"]) == (100, 137, 37, 0)
    assert [(part["change"], part["commits"], part["certainty"]) for part in change["commits"]] == [
        (50, [commit(4)], "single"),
        (-20, [commit(6)], "single"),
    ]
    assert [(part["change"], part["name"]) for part in change["configuration"]] == [(7, "allocator glibc → jemalloc")]
    assert (found["unchanged"], found["commits"]) == (1, 6)
    assert found["head"]["measured"] == commit(7), "the nearest earlier measured commit"
    text = read(released, "/releases/v1.0...v1.1")
    assert "+37 faults +37 %" in text.replace("\xa0", " ").replace("\u202f", " ")
    plain = text.replace("\xa0", " ").replace("\u202f", " ")
    assert "1 of 2 series is worse, 0 better, 1 the same. The largest: ▲ +37 faults (+37 %) in copy" in plain
    assert plain.index("+50 faults") > plain.index("and 2 more"), "the drifts unfold"
    assert "not measured; the levels come from" in text
    table = page(released, "/releases/v1.0...v1.1").partition("<table")[2]
    assert re.search(r'class="worse"><svg.*?</svg> <b>\+37', table, re.DOTALL), "its direction is seen"
    assert "| +50" in text.replace("\xa0", " ") or "Change 4" in text
    assert released.get("/releases/v1.1...v1.1.json").json["changes"] == []
    assert len(released.get("/releases/v1.0...v1.1.csv").text.splitlines()) == 4
    for text in ("v1.0", "main~7", "2025-01-03", commit(2)):
        sides = released.get(f"/compare.json?base={text}&head=main~2").json
        assert [side["key"] for side in sides["base"]] == [commit(2)]
        assert [side["key"] for side in sides["head"]] == [commit(7)]
    chosen = released.get("/releases/between?base=v1.0&head=main~1")
    assert chosen.location == "/releases/v1.0...main~1"
    assert "v1.1" in read(released, "/releases")
    wrong = released.get("/releases/between?base=v9&head=v1.1")
    assert wrong.status_code == 422
    assert "There is no commit v9 of demo. Enter a tag, a branch, a date" in wrong.text
    assert 'value="v9"' in wrong.text, "what was written stays"
    for address in ("/releases/v9...v1.1", "/releases/v1.0", "/releases/main~99...main"):
        assert released.get(address, headers={"Accept": "text/html"}).status_code == 404


def test_a_branch_whose_name_has_letters_of_addresses_is_compared(released: FlaskClient) -> None:
    named = tuple(Ref(kind="branch", name=name, commit=commit(5)) for name in ("fix/#12", "50%25", "what"))
    sent = RevisionList(revisions=(), refs=named).model_dump(mode="json")
    assert released.put("/api/v1/subjects/demo/revisions", json=sent).status_code == 200
    for ref in named:
        chosen = released.get("/releases/between", query_string={"base": "v1.0", "head": f"{ref.name}~1"})
        answer = released.get(chosen.location, headers={"Accept": "application/json"})
        assert answer.json["head"]["commit"] == commit(4), ref.name
        source = released.get(chosen.location).text
        (address,) = re.findall(r'<link rel="alternate" href="([^"]+)" type="application/json">', source)
        assert released.get(html.unescape(address)).json == answer.json, "the page links to its JSON"


def test_a_tag_that_moves_names_its_new_commit(released: FlaskClient) -> None:
    moved = RevisionList(revisions=(), refs=(Ref(kind="tag", name="v1.1", commit=commit(5)),))
    released.put("/api/v1/subjects/demo/revisions", json=moved.model_dump(mode="json"))
    assert released.get("/releases/v1.0...v1.1.json").json["head"]["commit"] == commit(5)


def test_each_tag_and_branch_has_its_subject(released: FlaskClient) -> None:
    assert "v1.1 demo tag" in read(released, "/releases")
    assert {"subject": "demo", "kind": "tag", "name": "v1.0", "commit": commit(2)} in released.get(
        "/releases.json"
    ).json
    assert released.get("/releases.csv").text.splitlines()[0] == "subject,kind,name,commit"
    assert "v1.1 demo tag" in read(released, "/releases/between?base=v1.0&head=nothing", 422)


def test_each_tag_links_to_what_changed_since_the_one_before(released: FlaskClient) -> None:
    source = released.get("/releases").text
    assert 'href="/releases/v1.0...v1.1?subject=demo">since v1.0</a>' in source
    assert 'href="/releases/v1.1...origin/main?subject=demo">since v1.1</a>' in source
    assert source.count(">since ") == 2


def test_a_branch_of_the_same_name_does_not_change_the_tag_before_a_tag(released: FlaskClient) -> None:
    sent = RevisionList(revisions=(), refs=(Ref(kind="branch", name="v1.0", commit=commit(3)),))
    assert released.put("/api/v1/subjects/demo/revisions", json=sent.model_dump(mode="json")).status_code == 200
    rows = re.findall(r'<tr><th scope="row">(.*?)</tr>', released.get("/releases").text)
    (row,) = (row for row in rows if row.startswith("v1.0</th><td>demo</td><td>tag<"))
    assert "since" not in row, "it is the first tag"


def test_a_change_that_was_undone_is_neither_worse_nor_better(app: APIFlask) -> None:
    client = app.test_client()
    named = tuple(Ref(kind="tag", name=f"v{number}", commit=commit(number)) for number in (1, 3))
    commits = tuple(reports.revision(number) for number in range(1, 4))
    sent = RevisionList(revisions=commits, refs=named).model_dump(mode="json")
    assert client.put("/api/v1/subjects/demo/revisions", json=sent).status_code == 200
    runs = [*reports.proven(0, 50, 0), *reports.proven(100, 100, 110, case=OTHER_CASE)]
    body = {"reports": [run.model_dump(mode="json") for run in runs]}
    assert client.post("/api/v1/runs", json=body).status_code == 200
    largest, change = client.get("/releases/v1...v3.json").json["changes"]
    assert (largest["change"], change["change"]) == (10, 0)
    assert [part["change"] for part in change["commits"]] == [50, -50]
    text = read(client, "/releases/v1...v3").replace("\xa0", " ")
    assert "1 of 2 series is worse, 0 better, 1 the same." in text
    assert "+50 faults" in text, "the drifts are still listed"
    assert "1 series changed and 1 did not, over 2 commits." in text


def test_a_change_that_is_only_suspected_is_undecided_as_in_a_comparison(api: Api) -> None:
    """A change after which there is one run is suspected, and listed after the certain ones, however large it is."""
    named = tuple(Ref(kind="tag", name=f"v{number}", commit=commit(number)) for number in (1, 3))
    commits = tuple(reports.revision(number) for number in range(1, 4))
    sent = RevisionList(revisions=commits, refs=named).model_dump(mode="json")
    assert api.client.put("/api/v1/subjects/demo/revisions", json=sent).status_code == 200
    api.send(*reports.proven(100, 100, 110))
    noisy = [reports.report(1, 1_000 + run % 3, case=OTHER_CASE, at=run) for run in range(12)]
    api.send(*noisy, reports.report(3, 2_000, case=OTHER_CASE))
    certain, suspected = api.client.get("/releases/v1...v3.json").json["changes"]
    assert [part["certainty"] for part in suspected["commits"]] == ["provisional"]
    assert (certain["undecided"], suspected["undecided"]) == (False, True)
    text = read(api.client, "/releases/v1...v3").replace("\xa0", " ")
    assert "1 of 2 series is worse, 0 better, 0 the same, 1 undecided. The largest: ▲ +10 faults" in text
    assert "1 series changed, 0 did not, and 1 is undecided, over 2 commits." in text
    compared = read(api.client, "/compare?base=v1&head=v3")
    assert "1 of 2 cases is worse, 0 better, 0 the same, 1 undecided." in compared


def test_a_release_has_the_level_of_a_history_even_if_many_later_commits_were_only_searched(api: Api) -> None:
    """Commit 4 adds 50 faults; bisects measured each of the thirty commits after it, up to the release."""
    commits = tuple(reports.revision(number) for number in range(1, 36))
    refs = (Ref(kind="tag", name="v1", commit=commit(2)), Ref(kind="tag", name="v2", commit=commit(35)))
    sent = RevisionList(revisions=commits, refs=refs).model_dump(mode="json")
    assert api.client.put("/api/v1/subjects/demo/revisions", json=sent).status_code == 200
    api.send(*reports.proven(100, 100, 100, 150))
    api.send(*(reports.report(number, 150, purpose=Purpose.BISECT) for number in range(5, 36)))
    found = api.client.get("/releases/v1...v2.json").json
    assert [(change["before"], change["after"], change["rest"]) for change in found["changes"]] == [(100, 150, 0)]
    assert found["head"]["measured"] == commit(4)


def test_a_release_whose_counts_were_reused_has_these_counts(api: Api) -> None:
    commits = tuple(reports.revision(number) for number in range(1, 36))
    refs = (Ref(kind="tag", name="v1", commit=commit(2)), Ref(kind="tag", name="v2", commit=commit(35)))
    sent = RevisionList(revisions=commits, refs=refs).model_dump(mode="json")
    assert api.client.put("/api/v1/subjects/demo/revisions", json=sent).status_code == 200
    api.send(*reports.proven(100, 100, 100, 150))
    origin = ReusedCounts(run_id=uuid.uuid4(), commit=commit(4))
    api.send(*(reports.report(number, 150, reused=origin) for number in range(5, 36)))
    found = api.client.get("/releases/v1...v2.json").json
    assert [(change["before"], change["after"], change["rest"]) for change in found["changes"]] == [(100, 150, 0)]
    assert found["head"]["measured"] == commit(35)


def test_the_largest_changes_name_their_hosts_if_there_are_several(app: APIFlask) -> None:
    api = Api(app.test_client())
    for host in ("lab-1", "lab-2"):
        api.send(
            *(
                run.model_copy(update={"host": Host(name=host), "run_id": uuid.uuid4()})
                for run in reports.proven(1000, 1000, 1900, 1900)
            )
        )
    (subject,) = {entry["subject"] for entry in api.client.get("/api/v1/events").json["items"]}
    text = read(api.client, f"/releases/{commit(1)}...{commit(4)}?subject={subject}")
    assert re.search(r"in copy\[mib=4\] on lab-1; ▲ .*? in copy\[mib=4\] on lab-2\.", text)
