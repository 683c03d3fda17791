"""When series are judged: what must not keep them from it, and when all of them are."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from runner.contract import Case
from service.pipeline import ingest_reports, judge_series, judging_batches, judging_schedule, update_events
from service.rules.series.find_drifts import find_drifts
from service.store.engine import deferred_work
from service.store.engine.database import Database
from service.store.series import series
from service.web.api import judging_wait
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import CASE, OTHER_CASE, commit

NEW_CASE = Case(workload="copy", definition="f" * 16, parameters={"mib": 16})


@pytest.fixture(autouse=True)
def _nothing_is_judged_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred_work, "QUIET_SECONDS", 600)


@pytest.mark.parametrize("mistake", [ValueError, AttributeError, RecursionError, StopIteration])
def test_a_long_series_that_cannot_be_judged_keeps_no_other_waiting(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mistake: type[Exception]
) -> None:
    def find_in_short_ones(trend: Any, **more: Any) -> Any:
        if len(trend.path) > 5:
            raise mistake("a detector's mistake")
        return find_drifts(trend, **more)

    monkeypatch.setattr(judge_series, "find_drifts", find_in_short_ones)
    api.send_each(*(reports.report(number, 100, 100, case=CASE) for number in range(1, 7)))
    monkeypatch.setattr(judging_schedule, "MAX_POINTS", 5)
    api.send_each(*(reports.report(number, level, case=OTHER_CASE) for number, level in ((1, 100), (2, 100), (3, 150))))
    assert [(drift["case"], drift["revision"]) for drift in api.drifts()] == [(OTHER_CASE.name, commit(3))]
    assert caplog.text.count("could not be judged") == 1, "it is not tried again with every report"


def settled(api: Api, **query: str) -> set[str]:
    """Return the cases with drifts, once all that was asked for is judged."""
    return {drift["case"] for drift in api.drifts(judged="true", **query)}


def send_unjudged(api: Api, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    with monkeypatch.context() as long:
        long.setattr(judging_schedule, "MAX_SERIES_AT_ONCE", 0)
        api.send(*(reports.report(n, level, level, **changes) for n, level in ((1, 100), (2, 100), (3, 150))))


def test_who_waits_does_not_wait_for_what_others_go_on_sending(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging_wait, "_MAX_WAIT_SECONDS", 20)
    send_unjudged(api, monkeypatch)
    numbers = itertools.count()

    def judge_while_other_hosts_send(*arguments: Any) -> Any:
        answer = judge_series.judge_series(*arguments)
        ingest_reports.ingest_reports(database, [reports.report(3, 150, host={"name": f"other-{next(numbers)}"})])
        return answer

    monkeypatch.setattr(judging_batches, "judge_series", judge_while_other_hosts_send)
    assert settled(api, subject="demo") == {CASE.name}


def test_only_series_in_question_are_judged_before_the_answer(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    send_unjudged(api, monkeypatch)
    send_unjudged(api, monkeypatch, host={"name": "other"})
    send_unjudged(api, monkeypatch, case=NEW_CASE)
    assert settled(api, host="box", definition=CASE.definition) == {CASE.name}
    assert {(drift["host"], drift["case"]) for drift in api.drifts()} == {("box", CASE.name)}
    assert settled(api) == {CASE.name, NEW_CASE.name}


def test_series_that_another_process_has_judged_again_meanwhile_are_waited_for(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_unjudged(api, monkeypatch)
    refresh = update_events.update_events

    def refresh_after_another_process(*arguments: Any) -> bool:
        monkeypatch.setattr(update_events, "update_events", refresh)
        refresh(*arguments)
        with database.writing() as session:
            assert series.mark_stale(session, series.SeriesFilter(), ["minor-faults"])
        return refresh(*arguments)

    monkeypatch.setattr(update_events, "update_events", refresh_after_another_process)
    assert settled(api) == {CASE.name}
    with database.reading() as session:
        assert series.map_stale_series(session) == {}
