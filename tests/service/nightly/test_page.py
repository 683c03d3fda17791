import csv
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from runner.contract import Environment
from runner.contract.quarantine import Purpose
from service.nightly import page as nightly_page
from service.nightly.queries import recent_points
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read


def test_cases_stand_against_hosts_in_their_configurations(measured: FlaskClient) -> None:
    text = read(measured, "/matrix")
    assert f"Case lab-1 {history.NEW.hash[:8]} MALLOC_CONF=dirty_decay_ms:0 lab-1 {history.OLD.hash[:8]}" in text
    assert "5,240 faults no new drift" in text, "the trend beside it shows the earlier drifts"
    assert 'href="/series/1"' in page(measured, "/matrix")


def test_a_table_with_room_draws_the_trend_of_each_cell(measured: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert page(measured, "/matrix").count('<svg class="spark"') == 2
    monkeypatch.setattr(nightly_page, "_MAX_DRAWN_COLUMNS", 1)
    assert '<svg class="spark"' not in page(measured, "/matrix"), "more columns leave no room"


def test_runs_of_proofs_hide_no_level(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        before = read(client, "/matrix")
        measured = history.report(13, history.NEW)
        proofs = [
            measured.model_copy(update={"run_id": uuid.uuid4(), "purpose": Purpose.PROOF, "session": uuid.uuid4()})
            for _ in range(17)  # more than the grid reads of a series
        ]
        broken = history.report(history.BROKEN, history.NEW)
        proofs.append(broken.model_copy(update={"run_id": uuid.uuid4(), "purpose": Purpose.BISECT}))
        history.send(client, proofs)
        assert read(client, "/matrix") == before
        assert "quarantine" not in before


def test_a_case_of_an_earlier_definition_is_folded_away_and_says_what_it_is(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        newest = history.report(13, history.NEW)
        case = newest.case.model_copy(update={"definition": "fedcba9876543210"})
        later = {"run_id": uuid.uuid4(), "case": case, "started_at": newest.started_at + timedelta(hours=1)}
        later["finished_at"] = newest.finished_at + timedelta(hours=1)
        history.send(client, [newest.model_copy(update=later)])
        text = read(client, "/matrix")
        assert text.count("settings of ") == 1
        assert "1 case of earlier workload definitions is hidden. Show all definitions" in text
        text = read(client, "/matrix?earlier=")
        assert "an earlier definition of the workload, last run " in text
        assert "Without" not in text
        assert len(client.get("/matrix.json").json["rows"]) == 2


def test_a_head_says_only_what_differs_between_the_columns_of_its_own_table(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        tools = {"tool.odd": "/opt/odd/bin/odd, 12 bytes of 2025-01-01 00:00:00"}
        other = history.report(13, Environment(settings={**history.NEW.settings, **tools}))
        history.send(client, [other.model_copy(update={"subject": "elsewhere"})])
        text = read(client, "/matrix")
        assert "no MALLOC_CONF" in text
        assert "odd" not in text


def test_another_metric_and_only_one_workload(measured: FlaskClient) -> None:
    assert "Matrix of throughput" in read(measured, "/matrix?metric=throughput")
    assert "operations/s" in read(measured, "/matrix?metric=throughput&workload=copy_service")
    assert "No case has reported minor faults of nothing yet." in read(measured, "/matrix?workload=nothing")
    assert "not supported" in read(measured, "/matrix?metric=instructions")


def test_the_formats_hold_the_same(measured: FlaskClient, empty: FlaskClient) -> None:
    assert measured.get("/matrix.json").json["rows"][0]["cells"][0]["value"] == 5240
    assert len(measured.get("/matrix.csv").text.splitlines()) == 3
    assert "shows how to begin" in read(empty, "/matrix")


def test_it_says_plainly_what_did_not_run_last_night_and_why(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        at, case = history.commit(13), history.CASE.model_dump(mode="json")
        place = {"host": "lab-1", "configuration": "plain", "workload": "copy"}
        done = place | {"carried_out": True, "subject": "copyd", "revision": at, "cases": [case]}
        cells = [done, {**place, "workload": "scan", "carried_out": True, "problem": "no such workload"}]
        cells.append({**place, "host": "lab-2"})
        assert client.put("/api/v1/nightly-runs/2025-05-01", json={"cells": cells}).status_code == 200
        text = read(client, "/matrix")
        assert "Last nightly run: 2025-05-01" in text
        assert "1 of 3 cells is complete; lab-2 has not reported" in text
        assert "2 planned but not measured" in text
        assert "lab-1 plain scan no such workload" in text
        assert "lab-2 plain copy lab-2 has not reported" in text
        assert client.get("/matrix.json").json["nightly_run"]["absent_hosts"] == ["lab-2"]
        cells[0] = done | {"revision": history.commit(history.BROKEN)}
        client.put("/api/v1/nightly-runs/2025-05-02", json={"cells": cells[:1]})
        text = read(client, "/matrix")
        assert "failed : " in text
        assert "✕ not measured in the last nightly run" in text
        assert "1 of 3 cells" in read(client, "/matrix?nightly_run=2025-05-01")
        assert client.get("/matrix?nightly_run=never").status_code == 404


def test_a_missed_case_is_not_that_of_another_subject_with_the_same_case(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        other = history.report(13, history.NEW).model_copy(update={"subject": "another", "run_id": uuid.uuid4()})
        history.send(client, [other])
        cell = {"host": "lab-1", "configuration": "plain", "workload": "copy", "carried_out": True, "subject": "copyd"}
        cell |= {"revision": history.commit(history.BROKEN), "cases": [history.CASE.model_dump(mode="json")]}
        assert client.put("/api/v1/nightly-runs/2025-05-01", json={"cells": [cell]}).status_code == 200
        rows = client.get("/matrix.json").json["rows"]
        missed = {row["subject"]: any(cell["missed"] for cell in row["cells"]) for row in rows}
        assert missed == {"another": False, "copyd": True}


def test_failures_of_another_subject_hide_none_of_the_chosen_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_points, "_MAX_FAILURES", 1)
    with application(tmp_path) as app:
        client = app.test_client()
        broken = history.report(history.BROKEN, history.NEW)
        later = {"started_at": broken.started_at + timedelta(hours=1), "finished_at": broken.finished_at}
        later["finished_at"] += timedelta(hours=1)
        other = broken.model_copy(update={"subject": "another", "run_id": uuid.uuid4(), **later})
        history.send(client, [broken, other])
        (row,) = client.get("/matrix.json?subject=copyd").json["rows"]
        assert "failed: " in row["cells"][0]["reason"]


def test_of_many_cases_the_first_hundred_are_shown_and_the_formats_hold_all(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        newest = history.report(13, history.NEW)
        cases = [newest.case.model_copy(update={"parameters": {"number": f"{number:03}"}}) for number in range(120)]
        history.send(client, [newest.model_copy(update={"run_id": uuid.uuid4(), "case": case}) for case in cases])
        text = read(client, "/matrix")
        assert "100 of 120 cases. Show all" in text
        assert "number=099" in text
        assert "number=100" not in text
        assert text.count("faults first run") == 100
        assert read(client, "/matrix?all=").count("faults first run") == 120
        rows = client.get("/matrix.json").json["rows"]
        assert [row["cells"][0]["value"] for row in rows] == [5240] * 120


def test_a_bisect_by_another_definition_supersedes_no_row(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        measured = history.report(13, history.NEW)
        later = {"started_at": measured.started_at + timedelta(days=1), "finished_at": measured.finished_at}
        later["finished_at"] += timedelta(days=1)
        case = measured.case.model_copy(update={"definition": "fedcba9876543210"})
        changes = {"run_id": uuid.uuid4(), "case": case, "purpose": Purpose.BISECT, "session": uuid.uuid4(), **later}
        history.send(client, [measured, measured.model_copy(update=changes)])
        text = read(client, "/matrix")
        assert "5,240 faults first run" in text
        assert "earlier definition" not in text


def test_the_cases_of_all_configurations_of_a_night_are_in_one_column(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        measured = history.report(13, history.NEW)
        for number in range(12):
            environment = Environment(settings={**history.NEW.settings, "process.memory_limit": str(number)})
            case = measured.case.model_copy(update={"parameters": {"memory_limit": number}})
            changes = {"run_id": uuid.uuid4(), "case": case, "environment": environment}
            history.send(client, [measured.model_copy(update=changes)])
        text = read(client, "/matrix")
        assert text.count("5,240 faults first run") == 12
        assert "not measured here" not in text
        assert "+ 11 environments" in text
        (column,) = client.get("/matrix.json").json["columns"]
        assert len({column["environment"], *column["others"]}) == 12
        _, *lines = csv.reader(client.get("/matrix.csv").text.splitlines())
        rows = client.get("/matrix.json").json["rows"]
        environments = [cell["environment"] for row in rows for cell in row["cells"]]
        assert [line[3] for line in lines] == environments
        assert set(environments) == {column["environment"], *column["others"]}
