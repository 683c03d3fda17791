"""When series are judged: what must not keep them from it, and when all of them are."""

from __future__ import annotations

from typing import Any

import pytest

from service.pipeline import detect_drifts, judge_series
from service.store.engine import deferred
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.reports import CASE, OTHER_CASE, commit


@pytest.fixture(autouse=True)
def _nothing_is_judged_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferred, "QUIET_SECONDS", 600)


def test_a_long_series_that_cannot_be_judged_keeps_no_other_waiting(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    find_drifts = judge_series.find_drifts

    def find_in_short_ones(trend: Any, *more: Any) -> Any:
        if len(trend.path) > 5:
            raise ValueError("a detector's mistake")
        return find_drifts(trend, *more)

    monkeypatch.setattr(judge_series, "find_drifts", find_in_short_ones)
    api.send(*(reports.report(number, 100, 100, case=CASE) for number in range(1, 7)))
    monkeypatch.setattr(detect_drifts, "MOST_POINTS", 5)
    api.send(*(reports.report(number, level, case=OTHER_CASE) for number, level in ((1, 100), (2, 100), (3, 150))))
    assert [(drift["case"], drift["revision"]) for drift in api.drifts()] == [(OTHER_CASE.name, commit(3))]
    assert caplog.text.count("could not be judged") == 1, "it is not tried again with every report"
