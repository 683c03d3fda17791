"""What is old gets smaller: its levels, drifts and events stay, and what was freed is what was told before."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Environment, Kind, Reading, Report, Sample, Status, get_metric
from runner.contract.judging import Judging
from service.pipeline.ingest_reports import prepare_reports
from service.rules.thinned_reports_and_profiles import reduce_report, thin_report
from service.store import profiles
from service.store.engine.database import Database
from service.store.maintenance.retention import RetentionResult, RetentionRule, apply_rule, estimate_rule
from service.store.series.encoded_samples import decode_samples
from tests.runner.sample_reports import profile
from tests.service import reports
from tests.service.apiclient import Api

EVERY_DATABASE = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@EVERY_DATABASE
def test_retention_takes_words_and_leaves_numbers(api: Api, database: Database) -> None:
    sent = [reports.report(number, level, level) for number, level in ((1, 100), (2, 100), (3, 200), (4, 200))]
    api.send(*sent)
    before = api.series(), api.drifts(), [api.get(f"/runs/{one.run_id}") for one in sent]
    rule = RetentionRule(thin_before=sent[3].started_at)
    assert apply_rule(database, rule).thinned == 3
    assert apply_rule(database, rule).thinned == 0
    assert (api.series(), api.drifts()) == before[:2]
    thinned, *_, whole = [Report.model_validate(api.get(f"/runs/{one.run_id}")) for one in sent]
    assert thinned.samples[0].perf_output == ""
    assert thinned.list_values("minor-faults") == (100, 100)
    assert whole == sent[3]
    assert api.send_each(sent[0]) == [200]
    assert api.send_each(sent[0].model_copy(update={"environment": Environment(settings={})})) == [409]


def timed(number: int, level: int) -> Report:
    """Return a report with an exact count, one that varies, and times that differ by the sample; one is judged."""
    times = [
        reports.sample(
            level,
            {
                **{"elapsed": 1 + 0.01 * place + number, "user-time": 1 + 0.01 * place + number},
                **{"sys-time": 0.5, "major-faults": place % 2},
            },
        )
        for place in range(5)
    ]
    return reports.report(number, samples=tuple(times), judging=Judging(judge=("elapsed",)))


@EVERY_DATABASE
def test_of_a_noisy_metric_of_an_old_run_level_and_extremes_remain(api: Api, database: Database) -> None:
    sent = [timed(number, level) for number, level in ((1, 100), (2, 100), (3, 200), (4, 200))]
    api.send(*sent, reports.report(1, 7, 9, subject="other", others={"elapsed": 3.0}))
    names = {entry["metric"]: entry["id"] for entry in api.get("/series", subject="demo")["items"]}
    before = {name: api.get(f"/series/{number}")["points"] for name, number in names.items()}
    drifts = api.drifts()
    rule = RetentionRule(thin_before=sent[3].started_at, reduce_before=sent[2].started_at, subjects=("demo",))
    told, done = estimate_rule(database, rule), apply_rule(database, rule)
    assert (done.reduced, done.thinned) == (2, 1)
    assert told == done, "there are few reports, so all are examples"
    assert apply_rule(database, rule) == estimate_rule(database, rule) == RetentionResult()
    after = {name: api.get(f"/series/{number}")["points"] for name, number in names.items()}
    assert api.drifts() == drifts
    for name in names:
        assert [point["value"] for point in after[name]] == [point["value"] for point in before[name]]
        kept = [point["n"] for point in after[name]]
        assert kept == ({"elapsed": [3, 3, 5, 5], "user-time": [1, 1, 5, 5]}.get(name, [5] * 4)), name
        for end in ("low", "high") if name != "user-time" else ():
            assert [point[end] for point in after[name]] == [point[end] for point in before[name]]
    reduced = Report.model_validate(api.get(f"/runs/{sent[0].run_id}"))
    assert reduced.list_values("elapsed") == (2.0, 2.02, 2.04)
    assert reduced.list_values("user-time") == (2.02,)
    assert reduced.list_values("major-faults") == (0, 1, 0, 1, 0)
    assert api.send_each(*sent) == [200] * 4, "sent again, they are the same runs"
    assert api.send_each(sent[0].model_copy(update={"environment": Environment(settings={})})) == [409]
    assert api.client.get(f"/runs/{sent[0].run_id}").status_code == 200
    assert api.client.get(f"/compare?base={sent[0].run_id}&head={sent[1].run_id}").status_code == 200


@EVERY_DATABASE
def test_an_interrupted_retention_goes_on(api: Api, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.maintenance.retention._REPORTS_PER_TRANSACTION", 2)
    sent = [timed(number, 100) for number in range(1, 8)]
    api.send(*sent)

    def stop(done: int, total: int) -> None:
        assert total == 7
        if done == 4:
            raise KeyboardInterrupt

    rule = RetentionRule(reduce_before=sent[-1].started_at + timedelta(days=1))
    with pytest.raises(KeyboardInterrupt):
        apply_rule(database, rule, stop)
    assert apply_rule(database, rule).reduced == 3


NAMES = ("minor-faults", "page-faults", "elapsed", "throughput", "instructions", "max-rss")


@given(
    samples=st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9)), min_size=1, max_size=6),
    judge=st.sets(st.sampled_from(NAMES)),
)
def test_a_reduced_report_has_the_levels_of_the_whole_one(samples: list[dict[str, int]], judge: set[str]) -> None:
    made = tuple(
        Sample(readings={name: Reading(value=value) for name, value in values.items()}, place=place)
        for place, values in enumerate(samples)
    )
    whole = reports.report(1, samples=made, judging=Judging(judge=tuple(judge)))
    reduced, left = reduce_report(whole)
    before = {point.metric: point for point in prepare_reports([whole])[0].points}
    after = {point.metric: point for point in prepare_reports([reduced])[0].points}
    assert before.keys() == after.keys()
    for name, point in after.items():
        assert (point.value, point.status) == (before[name].value, before[name].status)
        values = decode_samples(json.loads(point.value), point.n, point.samples)
        whole_values = decode_samples(json.loads(point.value), before[name].n, before[name].samples)
        judging = whole.judging
        if judging.is_judged_in_history(name) or judging.decides_comparison(name):
            assert (min(values), max(values)) == (min(whole_values), max(whole_values))
            decides = get_metric(name).kind is Kind.COUNT and judging.is_judged_in_history(name)
            keeps = decides or len(whole_values) <= 3 or len(set(whole_values)) == 1
            assert len(values) == (len(whole_values) if keeps else 3)
        else:
            keeps = len(set(whole_values)) == 1
            assert keeps or values == (json.loads(point.value),)
        assert (name not in left) == keeps
    assert reduce_report(reduced) == (reduced, {})
    assert reduce_report(thin_report(whole))[0] == reduced


def test_an_estimated_reading_stays_one() -> None:
    scaled = [
        Sample(readings={"instructions": Reading(status=Status.MULTIPLEXED, value=value, running_percent=40)})
        for value in (10, 30, 20, 20, 25)
    ]
    left = reduce_report(reports.report(1, samples=tuple(scaled)))[0].samples
    assert [sample.readings["instructions"] for sample in left] == [
        Reading(status=Status.MULTIPLEXED, value=20, running_percent=40)
    ]


@pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.thorough)], indirect=True
)
def test_what_many_reports_would_free_is_estimated_from_some_of_them(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.store.maintenance.retention._ESTIMATE_REPORTS", 5)
    for number in range(1, 21):  # Two subjects in turns: each has every second number.
        api.send(timed(number, 100), timed(number, 100).model_copy(update={"subject": "other", "run_id": uuid.uuid4()}))
    rule = RetentionRule(reduce_before=timed(30, 1).started_at, subjects=("other",))
    told = estimate_rule(database, rule)
    assert told.reduced == 20
    assert apply_rule(database, rule).freed == pytest.approx(told.freed, rel=0.1)


@EVERY_DATABASE
def test_old_profiles_are_deleted(api: Api, database: Database) -> None:
    prepared = [profiles.prepare_profile(profile().model_copy(update={"subject": name})) for name in ("demo", "other")]
    with database.writing() as session:
        for one in prepared:
            profiles.store_profile(session, one)
    later = datetime.now(UTC) + timedelta(days=1)
    rule = RetentionRule(thin_before=later, delete_profiles_before=later, subjects=("demo",))
    told = estimate_rule(database, rule)
    assert (told.profiles_deleted, told.profiles_thinned) == (1, 0)
    assert apply_rule(database, rule) == told
    with database.reading() as session:
        assert [entry.subject for entry in profiles.list_page(session, profiles.ProfileFilter(), 9, 0).items] == [
            "other"
        ]
    assert apply_rule(database, rule) == estimate_rule(database, rule) == RetentionResult()
