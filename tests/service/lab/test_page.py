"""The settings lab: what each combination of settings costs at one commit, and orders of those that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from service.lab import queries
from tests.service import reports
from tests.service.lab import made_lab
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read, visible

LAB = "/lab?subject=demo"


@pytest.fixture(scope="module")
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A lab in which nothing is ordered."""
    with application(tmp_path_factory.mktemp("lab"), made_lab.send) as app:
        yield app.test_client()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[FlaskClient]:
    with application(tmp_path, made_lab.send) as app:
        yield app.test_client()


def plain(text: str) -> str:
    return text.replace("\xa0", " ").replace("\u202f", " ")


def cells(client: FlaskClient, address: str = "/lab.json?subject=demo") -> dict[tuple[str | None, ...], dict[str, Any]]:
    found = client.get(address).json
    return {tuple(cell["values"].values()): cell for row in found["cells"] for cell in row}


def test_the_cells_show_faults_times_and_memory_and_how_sure_the_difference_is(read_only: FlaskClient) -> None:
    text = plain(read(read_only, LAB))
    assert "Settings lab of copy[mib=4]" in text
    assert "best 400 faults ▼ certainly better −60 % exact" in text
    assert "sys 11.2 ms ▼ certainly better −50 % −50 % to −50 %" in text
    assert "700 faults ▼ certainly better −30 % exact" in text
    assert "apart" in text, "a time of another session shows nothing"
    assert "Best: Huge pages never, 600 faults fewer than the default (−60 %)." in text


def test_what_is_not_measured_can_be_ordered_with_a_preview(lab: FlaskClient) -> None:
    text = plain(read(lab, LAB))
    cost = "This takes 2 runs, because the cell is measured interleaved with the default cell: 52 executions, about"
    assert f"Measure the empty cell {cost}" in text
    assert cells(lab)["libjemalloc.so.2", "never"]["state"] == "empty"
    assert lab.post("/lab/orders?subject=demo", data={"author": "M" * 101}).status_code == 422
    answer = lab.post("/lab/orders?subject=demo")
    assert answer.status_code == 303
    (job,) = lab.get("/api/v1/jobs").json["items"]
    assert job["question"]["settings"] == {"variable.LD_PRELOAD": "libjemalloc.so.2", "process.huge_pages": "never"}
    assert job["question"]["revision"] == reports.commit(made_lab.COMMIT)
    assert job["question"]["host"] == "box"
    cell = cells(lab)["libjemalloc.so.2", "never"]
    assert (cell["state"], cell["job_id"]) == ("ordered", job["id"])
    assert "Job 1" in read(lab, LAB)
    assert "nothing left to order" in visible(lab.post("/lab/orders?subject=demo").text)
    made_lab.finish(lab, job, "failed", "the library is not there")
    cell = cells(lab)["libjemalloc.so.2", "never"]
    assert (cell["state"], cell["sentence"]) == ("failed", "Failed: the library is not there")


def test_an_order_is_shown_however_many_were_made_for_other_commits(
    lab: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lab.post("/lab/orders?subject=demo").status_code == 303
    (job,) = lab.get("/api/v1/jobs").json["items"]
    question = {key: value for key, value in job["question"].items() if value is not None}
    order = {"question": question | {"revision": reports.commit(made_lab.COMMIT - 1)}, "backend": job["backend"]}
    assert lab.post("/api/v1/jobs", json=order).status_code in {200, 201}
    monkeypatch.setattr(queries, "_MAX_JOBS", 1)
    assert cells(lab)["libjemalloc.so.2", "never"]["state"] == "ordered"


def test_one_cell_is_ordered_by_its_own_button(lab: FlaskClient) -> None:
    address = LAB + "&set=memory_limit=128M|memory_limit=256M"
    keys = re.findall(r'name="cell" value="([0-9a-f]{16})"', page(lab, address))
    assert len(keys) > 1
    assert lab.post(address.replace("/lab", "/lab/orders"), data={"cell": keys[0]}).status_code == 303
    assert len(lab.get("/api/v1/jobs").json["items"]) == 1


def test_a_run_that_failed_says_why(read_only: FlaskClient) -> None:
    found = cells(read_only, "/lab.json?subject=demo&rows=process.memory_limit")
    assert found[(str(64 << 20),)]["state"] == "failed"
    assert "64 MiB were not enough" in read(read_only, LAB + "&rows=memory_limit")


def test_a_person_chooses_the_axes_and_adds_values(read_only: FlaskClient) -> None:
    form = "&place.variable.LD_PRELOAD=rows&place.process.huge_pages=&name=MALLOC_ARENA_MAX&values=1|4"
    found = read_only.get(f"/lab.json?subject=demo{form}").json
    assert (found["rows"], found["columns"]) == (["variable.LD_PRELOAD"], ["variable.MALLOC_ARENA_MAX"])
    assert found["column_texts"] == ["MALLOC_ARENA_MAX not set", "MALLOC_ARENA_MAX 1", "MALLOC_ARENA_MAX 4"]
    text = page(read_only, f"{LAB}&set=MALLOC_ARENA_MAX=1")
    assert "remove" in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("set=LD_PRELOAD=/tmp/own.so", "is a path: order the job through the API instead"),
        ("set=memory_limit=lots", "write a size such as 256M"),
        ("set=kernel.release=6.1", "only the host's administrator can set it"),
        ("set=allocator", "does not have the form NAME=VALUE"),
        ("pairs=1", "from 2 to 1000"),
        ("pairs=1001", "from 2 to 1000"),
        ("case=nothing", "There is no stored run of nothing"),
        ("subject=nothing", "There is no stored run of nothing"),
        ("commit=nonsense", "There is no commit nonsense of demo."),
        (
            "set=" + "|".join(f"A={number}" for number in range(121)),
            "121 values are to be measured; at most 100 are allowed.",
        ),
    ],
)
def test_what_makes_no_lab_is_refused_in_one_sentence(read_only: FlaskClient, query: str, words: str) -> None:
    assert words in read(read_only, f"/lab?{query}")
    answer = read_only.get(f"/api/v1/settings-lab?{query}")
    assert answer.status_code == 422
    assert words in answer.json["detail"]
    assert read_only.post(f"/lab/orders?{query}").status_code == 422


def test_a_number_of_pairs_that_no_number_can_be_is_refused(read_only: FlaskClient) -> None:
    assert "from 2 to 1000" in read(read_only, f"/lab?pairs={'9' * 5000}")


def test_a_commit_without_runs_takes_the_defaults_of_the_newest_run(read_only: FlaskClient) -> None:
    text = read(read_only, f"{LAB}&commit={reports.commit(4)}&set=huge_pages=never")
    assert "Nothing has been measured at this commit yet." in text
    found = cells(read_only, f"/lab.json?subject=demo&commit={reports.commit(4)}&set=huge_pages=never")
    assert {cell["state"] for cell in found.values()} == {"empty"}
    assert found[("never",)]["question"]["revision"] == reports.commit(4)


def test_the_api_and_the_csv_hold_the_same(read_only: FlaskClient) -> None:
    assert read_only.get("/api/v1/settings-lab?subject=demo").json == read_only.get("/lab.json?subject=demo").json
    lines = read_only.get("/lab.csv?subject=demo").text.splitlines()
    assert lines[0].startswith("variable.LD_PRELOAD,process.huge_pages,state,default,run,session,metric")
    assert any(",never,measured,False," in line and ",minor-faults,faults,400," in line for line in lines)


def test_it_begins_with_what_was_measured_last(read_only: FlaskClient, client: FlaskClient, empty: FlaskClient) -> None:
    assert "copy[mib=4]" in read(read_only, "/lab")
    assert f"at {history.commit(13)[:10]}" in read(client, "/lab")
    assert "nothing has been measured yet" in read(empty, "/lab")
    assert empty.get("/lab.csv").status_code == 200
    assert empty.get("/api/v1/settings-lab").status_code == 404


def test_the_matrix_and_the_case_lead_to_it(read_only: FlaskClient) -> None:
    assert 'href="/lab?' in page(read_only, "/matrix")
    key = read_only.get("/lab.json?subject=demo").json["case_key"]
    assert 'href="/lab?' in page(read_only, f"/cases/{key}")
