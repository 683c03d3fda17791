import re
from html import unescape
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from flask.testing import FlaskClient

from runner.contract.report import IMPORT_FORMAT, Case, Environment, Host
from service.store.runs import compared_runs
from service.store.runs.compared_runs import Side
from service.web.pages import compare
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import extreme_reports, history
from tests.service.web.application import application
from tests.service.web.text import page, read

BEFORE, AFTER = history.commit(history.REGRESSION - 1), history.commit(history.REGRESSION)


def rows(client: FlaskClient, base: str, head: str, more: str = "") -> dict[str, dict[str, object]]:
    answer = client.get(f"/compare.json?base={base}&head={head}&{more}")
    assert answer.status_code == 200, answer.text
    assert answer.json
    return {row["verdict"]["metric"]: row["verdict"] for row in answer.json["rows"]}


def test_two_commits_side_by_side_say_what_moved_and_why(client: FlaskClient) -> None:
    text = read(client, f"/compare?base={BEFORE[:10]}&head={AFTER[:10]}")
    assert "2,239 faults the same in all 3 18,623 faults the same in all 3 +16,384 faults +732 %" in text
    assert f"There is a drift between base and head: +16,384 faults at {AFTER[:10]}." in text
    assert "Both sides of every case have the same environment." in text
    assert next(iter(rows(client, BEFORE, AFTER))) == "minor-faults"


def test_all_metrics_and_only_what_changed(client: FlaskClient) -> None:
    assert "page-faults" not in rows(client, BEFORE, AFTER)
    assert "page-faults" in rows(client, BEFORE, AFTER, "metric=all")
    assert list(rows(client, BEFORE, AFTER, "show=changed")) == ["minor-faults"]
    assert list(rows(client, BEFORE, AFTER, "metric=throughput")) == ["throughput"]


def test_a_long_table_comes_in_pages_of_cases(extremes: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_MAX_CASES", 2)
    base, head = extreme_reports.commit(0), extreme_reports.commit(7)
    address = f"/compare{{}}?base={base}&head={head}&metric=all"
    whole = [row["case"] for row in extremes.get(f"{address.format('.json')}&all=").json["rows"]]
    n_cases = len(set(whole))
    assert n_cases > 4
    found: list[str] = []
    for offset in range(0, n_cases, 2):
        told = extremes.get(f"{address.format('.json')}&offset={offset}").json
        assert told is not None
        assert (told["total"], told["limit"], told["offset"]) == (n_cases, 2, offset)
        found += [row["case"] for row in told["rows"]]
    assert sorted(found) == sorted(whole)
    assert [case for case, _ in groupby(found)] == list(dict.fromkeys(found)), "all metrics of a case are on one page"
    assert extremes.get(address.format(".csv")).text.count("\n") == 1 + len(whole)
    text = read(extremes, f"{address.format('')}&offset=2")
    assert f"3 to 4 of {n_cases} shown. Show all" in text
    assert "Previous Next" in text
    beyond = read(extremes, f"{address.format('')}&offset={2 * n_cases}")
    assert "There are no more cases. Show the first ones" in beyond


def test_it_begins_with_one_sentence_and_the_largest_changes(extremes: FlaskClient) -> None:
    base, head = extreme_reports.commit(0), extreme_reports.commit(7)
    html = extremes.get(f"/compare?base={base}&head={head}").text
    text = read(extremes, f"/compare?base={base}&head={head}")
    (counts,) = re.findall(r"(\d+) of (\d+) cases (?:is|are) worse, (\d+) better, (\d+) the same", text)
    assert 0 < int(counts[0]) < int(counts[1])
    assert text.index("cases are worse") < text.index("+12 faults in copy_service")
    assert html.index("counts-bar") < html.index("<table")
    assert '<details class="card fold">' in html, "the form is folded once it is filled"


def test_a_case_on_two_hosts_is_one_case_and_the_largest_changes_are_of_different_ones(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        for host, pidigits in (("turing", 400), ("navajo", 390)):
            for mib, level in ((4, pidigits), (8, 250), (16, 120), (32, 100)):
                case = reports.CASE.model_copy(update={"parameters": {"mib": mib}})
                Api(client).send(*reports.proven(100, 100, level, level, case=case, host=Host(name=host)))
        text = read(client, f"/compare?base={reports.commit(2)}&head={reports.commit(3)}")
        assert "2025-01-03 12:00 UTC → 2025-01-04 12:00 UTC on navajo, turing" in text
        assert "3 of 4 cases are worse, 0 better, 1 the same." in text
        assert "The largest 3: ▲ +300 faults (+300 %) in copy[mib=4] on turing; ▲ +150 faults (+150 %)" in text
        assert "; ▲ +20 faults (+20 %) in copy[mib=16] on " in text
        alone = read(client, f"/compare?base={reports.commit(2)}&head={reports.commit(3)}&host=turing")
        assert "2025-01-04 12:00 UTC on turing 3 of 4 cases are worse" in alone
        assert "+300 faults (+300 %) in copy[mib=4] ;" in alone, "one host needs no name beside each change"


def test_the_sentence_counts_all_cases_whatever_is_shown(extremes: FlaskClient, client: FlaskClient) -> None:
    base, head = extreme_reports.commit(0), extreme_reports.commit(7)
    sentences = [
        re.findall(r"\d+ of \d+ cases are worse[^.]*\.", read(extremes, f"/compare?base={base}&head={head}{more}"))
        for more in ("", "&show=changed")
    ]
    assert sentences[0]
    assert sentences[0] == sentences[1]
    same = f"/compare?base={BEFORE}&head={history.commit(history.REGRESSION - 2)}&show=changed"
    assert "Nothing changed in 1 case." in read(client, same)


def test_swapped_sides_keep_their_subject(client: FlaskClient) -> None:
    source = page(client, f"/compare?base={BEFORE}&head={AFTER}&subject={history.SUBJECT}")
    (swap,) = re.findall(r'href="([^"]+)">Swap sides', source)
    assert f"subject={history.SUBJECT}" in swap


def test_a_chosen_subject_and_the_filters_stay_when_one_of_them_is_changed(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = f"base={BEFORE}&head={AFTER}&subject={history.SUBJECT}"
    form = page(client, f"/compare?{chosen}").partition('aria-label="Sides to compare"')[2].partition("</form>")[0]
    assert f'name="subject" value="{history.SUBJECT}"' in form

    unchanged = f"base={BEFORE}&head={history.commit(history.REGRESSION - 2)}&subject={history.SUBJECT}"
    source = page(client, f"/compare?{unchanged}&show=changed&host=lab-1")
    (all_metrics,) = re.findall(r'href="([^"]+)">Show all metrics', source)
    asked = dict(parse_qsl(unescape(all_metrics).partition("?")[2]))
    assert (asked["subject"], asked["host"]) == (history.SUBJECT, "lab-1")
    assert (asked["metric"], asked.get("show", "all")) == ("all", "all")

    elsewhere = page(client, f"/compare?base=0000000&head={AFTER}&subject={history.SUBJECT}")
    assert f"There is no 0000000 in {history.SUBJECT}." in elsewhere
    assert "Look in all subjects" in elsewhere

    monkeypatch.setattr(
        compared_runs,
        "find_sides",
        lambda _session, text, _subject: [Side("revision", text, "", name) for name in "ab"],
    )
    several = page(client, f"/compare?base={BEFORE}&head={AFTER}&metric=throughput")
    choices = re.findall(r'<li><a href="([^"]+)">', several.partition("matches several entries")[2])
    assert choices
    assert all("metric=throughput" in choice for choice in choices)


def test_a_case_is_one_line_and_its_other_metrics_unfold(client: FlaskClient) -> None:
    html = client.get(f"/compare?base={BEFORE}&head={AFTER}&metric=all").text
    body = html[html.index("<tbody>") : html.index("</tbody>")]
    assert body.count("<tr>") == 1
    assert "and 4 other metrics" in body
    assert re.search(r"Throughput</a>: [\d,.]+ → [\d,.]+ operations/s", body.replace("\xa0", " "))


def test_two_environments_are_compared_at_the_commit_that_both_measured(client: FlaskClient) -> None:
    old, new = history.OLD.hash, history.NEW.hash
    text = read(client, f"/compare?base={old[:6]}&head=environment:{new}")
    assert "variable.MALLOC_CONF not set dirty_decay_ms:0" in text
    assert "+3,000 faults" in text
    assert rows(client, old, new)["minor-faults"]["rule"] == "trend"


def test_two_runs_and_a_host_can_be_named(client: FlaskClient) -> None:
    one, other = history.run_id(0), history.run_id(history.REGRESSION)
    assert rows(client, str(one), f"run:{other}")["minor-faults"]["change"] == 16384
    assert rows(client, "lab-1", "host:lab-1")["minor-faults"]["change"] == 0


def test_without_a_common_case_the_page_names_the_host_as_a_condition_only_where_it_is_one(tmp_path: Path) -> None:
    elsewhere = Environment(settings={**history.OLD.settings, "cpu.model": "other"})
    other_host = history.report(1, elsewhere).model_copy(
        update={
            "run_id": history.run_id(98),
            "host": Host(name="lab-2"),
            "case": Case(workload="w", definition="0" * 16),
        }
    )
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        history.send(client, [other_host])
        condition = "the same definition of the workload, on the same host;"
        environments = read(client, f"/compare?base={history.OLD.hash}&head={elsewhere.hash}")
        assert "Base and head have no measured case in common." in environments
        assert condition in environments
        for base in (BEFORE, history.OLD.hash, "lab-1"):
            chosen = read(client, f"/compare?base={base}&head=host:lab-2")
            assert "Base and head have no measured case in common." in chosen
            assert condition not in chosen


def test_the_short_address_leads_there(client: FlaskClient) -> None:
    answer = client.get(f"/compare/{BEFORE[:8]}...{AFTER[:8]}?show=changed")
    assert answer.status_code == 302
    assert answer.location == f"/compare?base={BEFORE[:8]}&head={AFTER[:8]}&show=changed"


def test_what_is_not_there_is_said_with_what_to_write(client: FlaskClient) -> None:
    text = read(client, "/compare?base=%3Cscript%3E&head=0000000")
    assert "There is no <script>." in text
    assert "There is no 0000000. Enter a tag, a branch, a date" in text


def test_without_two_sides_it_offers_what_was_measured_last(client: FlaskClient, empty: FlaskClient) -> None:
    newest, before, *_ = (history.commit(number)[:12] for number in reversed(range(len(history.TITLES))))
    html = page(client, "/compare")
    assert f"last measured one, {newest[:10]}" in read(client, "/compare")
    assert f"base={newest}" not in html, "no commit is compared with itself"
    assert before == history.commit(12)[:12]
    offered = re.findall(r"/compare\?base=(\w+)&(?:amp;)?head=(\w+)", html)
    assert offered[0] == (before, newest)
    assert len(offered) == len(set(offered)) == 7
    assert history.commit(history.BROKEN)[:12] not in dict(offered), "it was never measured"
    assert "Nothing has been measured yet." in read(empty, "/compare")


def test_the_filters_complete_what_is_stored(client: FlaskClient) -> None:
    html = client.get("/compare").text
    for name, stored in (("workload", "workloads"), ("host", "hosts")):
        (box,) = re.findall(rf'<input name="{name}"[^>]*>', html)
        assert f'list="{stored}"' in box
        (options,) = re.findall(rf'<datalist id="{stored}">(.*?)</datalist>', html)
        assert "<option value=" in options, stored


def test_a_date_before_the_first_commit_is_answered_with_its_date(client: FlaskClient) -> None:
    first = f"The first commit is from {history.START:%Y-%m-%d}."
    assert f"There is no 2020-01-01. {first}" in read(client, f"/compare?base=2020-01-01&head={AFTER}")
    assert first not in read(client, f"/compare?base=deadbeef&head={AFTER}")
    in_subject = read(client, f"/compare?base=2020-01-01&head={AFTER}&subject={history.SUBJECT}")
    assert f"The first commit of {history.SUBJECT} is from {history.START:%Y-%m-%d}." in in_subject


def test_what_another_tool_measured_cannot_be_reproduced_and_the_worst_case_comes_first(tmp_path: Path) -> None:
    imported = Environment(settings={IMPORT_FORMAT: "csv"})
    with application(tmp_path) as app:
        client = app.test_client()
        for number, level in enumerate((101, 180, 140)):
            case = Case(workload=f"w{number}", definition="0" * 16)
            Api(client).send(*reports.proven(100, 100, level, level, case=case))
        foreign = Case(workload="foreign", definition="0" * 16)
        Api(client).send(*reports.proven(100, 100, 900, 900, case=foreign, environment=imported))
        html = page(client, f"/compare?base={reports.commit(2)}&head={reports.commit(3)}")
        assert re.findall(r"faultwatch compare (\w+) ", html.partition("data-copy")[0]) == ["w1", "w2", "w0"]
        only_foreign = page(client, f"/compare?base={reports.commit(2)}&head={reports.commit(3)}&workload=foreign")
        assert "Reproduce" not in only_foreign


def test_unchanged_commits_are_not_undecided_where_their_history_has_no_drift(tmp_path: Path) -> None:
    levels = (18_033, 18_036, 18_034, 18_035, 18_033, 18_036, 18_032, 18_035)
    with application(tmp_path) as app:
        client = app.test_client()
        Api(client).send(*(reports.report(number, level) for number, level in enumerate(levels, start=1)))
        html = page(client, f"/compare?base={reports.commit(7)}&head={reports.commit(8)}&show=all")
        assert "0 of 1 case is worse, 0 better, 0 the same, 1 without a drift." in html
        assert ">no drift</span>" in html
        assert "undecided" not in html


def test_a_suspected_change_precedes_larger_differences_without_a_drift(tmp_path: Path) -> None:
    restless = (100, 180, 101, 179, 100, 181, 102, 180, 99, 181) * 2
    with application(tmp_path) as app:
        client = app.test_client()
        cases = {
            "restless": (*restless, 100, 180),
            "suspected": (*(1000 + number % 3 for number in range(20)), 1000, 1040),
        }
        for name, levels in cases.items():
            case = Case(workload=name, definition="0" * 16)
            Api(client).send(*(reports.report(number, level, case=case) for number, level in enumerate(levels, 1)))
        rows = client.get(f"/compare.json?base={reports.commit(21)}&head={reports.commit(22)}").json["rows"]
        assert [row["case"] for row in rows if row["verdict"]["metric"] == "minor-faults"] == ["suspected", "restless"]
