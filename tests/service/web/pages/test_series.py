import csv
import json
import re
from pathlib import Path
from random import Random

import pytest
from flask.testing import FlaskClient

from service.schemas.history import SeriesDetail
from service.store.maintenance import subject_deletion
from service.web import app_resources
from service.web.pages import series
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.extreme_reports import CHANGES, series_id
from tests.service.web.text import page, read


def test_a_series_shows_its_definition_drifts_and_why(client: FlaskClient) -> None:
    text = read(client, "/series/1")
    assert "Minor faults of copy_service[mib=8,operations=25]" in text
    assert "Page faults that the kernel resolved" in text
    assert "Hand memory back after each operation" in text
    assert "Rule exact ; levels of 4 and 3 runs; within a level, all samples are the same." in text


def test_a_series_lists_configuration_changes_failures_and_runs(client: FlaskClient) -> None:
    text = read(client, "/series/1")
    assert f"At {history.commit(history.ANCHOR)[:10]} of 2025-03-12 12:30 UTC , environment" in text
    assert "variable.MALLOC_CONF not set dirty_decay_ms:0" in text
    assert "Forget a semicolon Build failed make ended with status 2" in text
    assert "18,624 faults all the same 3" in text


def test_all_configuration_changes_are_in_one_table(extremes: FlaskClient) -> None:
    """With a table for each, thirty upgrades filled six screens."""
    source = page(extremes, f"/series/{series_id(extremes, 'restless_case')}")
    section = source.partition('id="changes"')[2].partition("</section>")[0]
    assert section.count("<table") == 1
    assert section.count("<tbody") == CHANGES
    assert section.count("Run before</a>") == CHANGES


def test_commits_at_which_the_case_was_not_measured_are_listed_and_in_the_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        history.send(client, [history.report(number, history.OLD) for number in range(6) if number != 3])
        other = history.CASE.model_copy(update={"parameters": {"mib": 99}})
        others = [history.report(number, history.OLD, again=True) for number in range(6)]
        history.send(client, [run.model_copy(update={"case": other}) for run in others])
        text = read(client, "/series/1")
        assert "1 commit without a run lab-1 measured other cases there, but not this one." in text
        assert f"{history.commit(3)[:10]} {history.TITLES[3]}" in text
        monkeypatch.setattr(series, "_MAX_SEARCHED_COMMITS", 1)
        history.send(client, [run.model_copy(update={"case": other}) for run in [history.report(8, history.OLD)]])
        assert "At least 1 commit without a run" in read(client, "/series/1"), "older commits were not searched"
        *_, last = csv.DictReader(client.get("/series/1.csv").text.splitlines())
        assert (last["revision"], last["status"], last["run_id"]) == (history.commit(3), "not_measured", "")


def test_a_zigzag_that_is_no_drift_is_explained(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        counts = [5000, 5001, 5000, 5000]
        runs = [
            history.with_faults(history.report(number, history.OLD), [count] * 3) for number, count in enumerate(counts)
        ]
        history.send(client, runs)
        text = read(client, "/series/1")
        assert "No drifts have been found in this series." in text
        assert "The counts of the 4 runs at this level go back and forth: 5,000 (3 times) or 5,001 (once)." in text
        assert "The level is new" in text


def test_a_staircase_that_was_not_compared_is_suspected_and_not_one_level(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        counts = [5000, 5256, 5512, 5768, 6024, 6024]
        runs = [
            history.with_faults(history.report(number, history.OLD), [count] * 3) for number, count in enumerate(counts)
        ]
        history.send(client, runs)
        text = read(client, "/series/1")
        assert "No drifts have been found" not in text
        assert "No drift is certain, but 4 changes are suspected." in text
        assert "5,512 faults → 5,768 faults" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_single_sample_is_not_called_all_the_same(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client, run = app.test_client(), reports.report(1, 100)
        Api(client).send(run)
        for text in (read(client, "/series/1"), read(client, f"/runs/{run.run_id}")):
            assert "100 faults 1 sample 1" in text
            assert "all the same" not in text


def test_a_drift_somewhere_within_several_runs_is_not_suspected_once_more(tmp_path: Path) -> None:
    """The step is known only as lying within some runs, so its last candidate is not the first run at the new level."""
    random = Random(0)
    levels = [1000] * 20 + [1004] * 28
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*(reports.report(n, level + random.randrange(-3, 4)) for n, level in enumerate(levels, 1)))
        (found,) = client.get("/series/1.json").json["drifts"]
        assert found["first_bad"] != found["revision"]
        text = read(client, "/series/1")
    assert "somewhere within" in text
    assert "In addition," not in text


def test_a_series_says_beforehand_what_a_comparison_can_find(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        runs = [history.with_faults(history.report(number, history.OLD), [5000, 5100, 4900]) for number in range(4)]
        history.send(client, runs)
        assert re.search(
            r"A rise of 2 % would be proven in about \d+ interleaved pairs \(\d+ s\)\.", read(client, "/series/1")
        )


def test_the_chart_gets_its_data_with_the_page(client: FlaskClient) -> None:
    found = re.search(r'<script type="application/json">(.*?)</script>', page(client, "/series/1"), re.DOTALL)
    assert found
    chart = json.loads(found.group(1))
    assert len(chart["path"]) == 14
    assert chart["path"][6]["title"] == history.HOSTILE


def test_what_was_not_supported_is_a_word_and_never_zero(client: FlaskClient) -> None:
    series = client.get("/api/v1/series?metric=instructions").json
    assert series
    text = read(client, f"/series/{series['items'][0]['id']}")
    assert "not supported none 0" in text
    assert "No run has a value to draw" in text


def test_long_series_show_the_newest_runs_first(extremes: FlaskClient) -> None:
    address = f"/series/{series_id(extremes, 'long_case')}"
    assert "100 of 10,000. Show all" in read(extremes, address)
    assert page(extremes, f"{address}?all").count("/runs/") > 10_000


def test_an_unknown_series_is_a_page_that_says_so(client: FlaskClient) -> None:
    assert "There is no such series" in read(client, "/series/4711", 404)


def test_a_series_is_shown_as_it_was_read_if_its_subject_is_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def delete_and_list(_series: SeriesDetail) -> list[SeriesDetail]:
        subject_deletion.delete_subject(app_resources.get_database(), history.SUBJECT)
        return []

    monkeypatch.setattr(series, "list_overlaid_series", delete_and_list)
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        assert history.CASE.name in read(client, "/series/1")
        page(client, "/series/1", 404)
