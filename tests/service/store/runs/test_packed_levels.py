"""The packed levels say what the points say, whoever wrote them: on every database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from runner.contract import Reading, Report, Status
from runner.contract.judging import Judging
from runner.contract.metrics import MetricView, list_shown_metrics
from service.config.settings import Config
from service.rules.comparison.compare_stored_runs import SideReadings
from service.store.engine.database import Database
from service.store.maintenance.retention import RetentionRule, apply_rule
from service.store.models import Run
from service.store.runs.compared_runs import read_readings
from service.store.runs.packed_levels import (
    PACKED_METRICS,
    EncodedPoint,
    pack_levels,
    unpack_levels,
)
from service.store.series.encoded_samples import encode_samples
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.cli.test_commands import run as run_service

EVERY_DATABASE = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def varying(number: int) -> Report:
    """Return a report with counts that vary and that do not, times, and a metric without a value."""
    unsupported = {"sys-percent": Reading(status=Status.NOT_SUPPORTED)}
    samples = []
    for place in range(5):
        made = reports.sample(100 + number * (place % 2), {"elapsed": 1 + 0.25 * place, "major-faults": 0})
        samples.append(made.model_copy(update={"readings": {**made.readings, **unsupported}}))
    return reports.report(number, samples=tuple(samples), judging=Judging(judge=("elapsed",)))


def read_both(session: Session) -> tuple[dict[int, dict[str, SideReadings]], dict[int, dict[str, SideReadings]]]:
    """Return the readings of all runs from their packed levels, and from their points."""
    levels = dict(session.execute(select(Run.number, Run.levels)).all())
    packed = read_readings(session, levels, PACKED_METRICS, {number: text or "" for number, text in levels.items()})
    return packed, read_readings(session, levels, PACKED_METRICS, {})


def test_they_hold_the_metrics_that_a_comparison_shows() -> None:
    assert set(list_shown_metrics(MetricView.COMPARISON)) == PACKED_METRICS


@EVERY_DATABASE
def test_they_equal_the_points_as_stored_after_retention_and_rebuilt(
    api: Api, database: Database, config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = [varying(number) for number in (1, 2, 3, 4)]
    api.send(*sent, reports.report(5, 7, 9, subject="other"))
    with database.reading() as session:
        as_stored, of_points = read_both(session)
    assert as_stored == of_points
    assert as_stored[1]["minor-faults"].samples == [100, 101, 100, 101, 100]
    apply_rule(database, RetentionRule(reduce_before=sent[2].started_at + timedelta(seconds=1)))
    with database.reading() as session:
        packed, of_points = read_both(session)
    assert packed == of_points
    assert [packed[number]["elapsed"].n for number in (1, 4)] == [3, 5]
    with database.writing() as session:
        session.execute(update(Run).where(Run.number == 4).values(levels=None))
        session.execute(update(Run).where(Run.number == 5).values(levels="{}"))
    monkeypatch.setenv("DATABASE_URL", config.database_url)
    assert run_service(monkeypatch, "reindex") == 0
    assert "the levels of 5 runs were rebuilt" in capsys.readouterr().out
    with database.reading() as session:
        packed, of_points = read_both(session)
    assert packed == of_points
    assert [packed[number] for number in (4, 5)] == [as_stored[number] for number in (4, 5)]


@EVERY_DATABASE
def test_a_run_without_them_is_compared_by_its_points(api: Api, database: Database) -> None:
    api.send(varying(1), varying(2))
    address = f"/compare.json?base={reports.commit(1)}&head={reports.commit(2)}&sort=case"
    rows = api.client.get(address).json["rows"]
    with database.writing() as session:
        session.execute(update(Run).where(Run.number == 1).values(levels=None))
    api.send(reports.report(2, 7, case=reports.OTHER_CASE))  # the comparison that was just shown is not remembered
    assert api.client.get(address).json["rows"] == rows


_NUMBERS = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))


@given(st.lists(_NUMBERS, max_size=4), st.booleans())
def test_every_number_is_read_as_it_was_packed(samples: list[float], counted: bool) -> None:
    level, n, text = encode_samples(samples)
    status = Status.COUNTED if counted else Status.MULTIPLEXED
    column = pack_levels([EncodedPoint("elapsed", 7, status.value, n, level, text)])
    readings = unpack_levels({1: column}, {"elapsed"})[1]["elapsed"]
    assert (readings.series, readings.counted, readings.n) == (7, counted, len(samples))
    assert list(readings.samples) == samples
    assert repr(readings.level) == str(level)
