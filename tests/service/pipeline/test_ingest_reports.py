"""Several writers at once, on every database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from runner.contract.judging import Judging
from service.pipeline import ingest_reports
from service.store.engine.database import Database
from service.store.models import Case, Environment, Host, Point, Run, Series, Subject
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)

WRITERS = 4


def test_what_runs_share_is_made_once_by_writers_that_start_at_once(database: Database, database_url: str) -> None:
    sent = [
        [
            reports.report(number, 100, 100, case=case)
            for number in (1, 2)
            for case in (reports.CASE, reports.OTHER_CASE)
        ]
        for _ in range(WRITERS)
    ]

    def write(index: int) -> int:
        own = Database(database_url)  # as another process has it
        prepared = ingest_reports.prepare_reports(sent[index] if index % 2 else reversed(sent[index]))
        with own.writing() as session:
            taken = ingest_reports.store_reports(session, prepared)
        own.close()
        return len(taken.created_ids)

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sum(pool.map(write, range(WRITERS))) == 4 * WRITERS
    with database.reading() as session:
        counts = [session.scalar(select(func.count()).select_from(model)) for model in (Subject, Host, Environment)]
        assert counts == [1, 1, 1]
        assert session.scalar(select(func.count()).select_from(Case)) == 2
        assert list(session.scalars(select(Series.n_points))) == [2 * WRITERS] * 2
        assert session.scalar(select(func.count()).select_from(Point)) == 4 * WRITERS
        assert sorted(session.scalars(select(Run.number))) == list(range(1, 4 * WRITERS + 1))


def test_a_batch_is_taken_once_however_often_it_is_sent(api: Api) -> None:
    batch = [reports.report(number, 100, 101) for number in (1, 2, 3)]
    body = {"reports": [report.model_dump(mode="json") for report in batch]}
    first, second = (api.client.post("/api/v1/runs", json=body).json for _ in range(2))
    assert (first["created"], first["already_stored"]) == (3, 0)
    assert (second["created"], second["already_stored"]) == (0, 3)
    assert api.get("/runs")["total"] == 3


def test_the_same_report_in_other_words_is_the_same(api: Api) -> None:
    report = reports.report(1, 100, others={"throughput": 2.5})
    document = report.model_dump(mode="json", exclude_defaults=True)
    document["samples"][0]["readings"] = dict(reversed(document["samples"][0]["readings"].items()))
    assert api.send_each(report) == [201]
    assert api.client.put(f"/api/v1/runs/{report.run_id}", json=document).status_code == 200


def test_another_report_of_the_same_batch_with_the_same_id_is_left_out(api: Api) -> None:
    first, second = reports.report(1, 100), reports.report(2, 200)
    other = second.model_copy(update={"run_id": first.run_id})
    body = {"reports": [report.model_dump(mode="json") for report in (first, other, first)]}
    told = api.client.post("/api/v1/runs", json=body).json
    assert told == {"created": 1, "already_stored": 1, "conflicting": [str(first.run_id)]}
    assert api.get(f"/runs/{first.run_id}")["revision"]["commit"] == reports.commit(1)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_report_that_arrives_late_does_not_bring_back_what_the_workload_judged_before(
    at_once: bool, api: Api
) -> None:
    newest, late = (
        reports.report(2, 100, at=minute, others={"throughput": 2.5}, judging=Judging(judge=judged))
        for minute, judged in ((2, ("throughput",)), (1, ()))
    )
    for batch in [[newest, late]] if at_once else [[newest], [late]]:
        api.send(*batch)
    (series,) = api.get("/series", metric="throughput")["items"]
    assert series["judged"] is True
