"""What whoever runs the service watches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from runner.contract.job import State
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.store.service_figures import Figures
from service.web.prometheus_metrics import ServiceMetrics
from tests.service import reports
from tests.service.apiclient import Api

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
# As Prometheus asks; it would take a page for people too, and make nothing of it.
PROMETHEUS = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
Values = dict[tuple[str, str], float]


def values(families: Iterable[Metric]) -> Values:
    """Metric and the values of its labels → value."""
    samples = [sample for family in families for sample in family.samples]
    return {(one.name.removeprefix("faultwatch_"), " ".join(one.labels.values())): one.value for one in samples}


NOTHING = Figures(
    runs={},
    last_runs={},
    jobs={},
    queued_since=None,
    drifts=0,
    unjudged=0,
    messages={"channels": 0, "forges": 0},
    pending_webhooks=0,
    size=0,
)


def test_what_there_is_none_of_is_told_all_the_same() -> None:
    # An alert on a figure that is not there would never come.
    told = values(ServiceMetrics(NOTHING, NOW, "1.2").collect())
    assert told["runs_total", "measured true"] == 0
    assert told["jobs", "lost"] == 0
    assert told["jobs_oldest_queued_seconds", ""] == 0
    assert told["build_info", "1.2"] == 1


def test_hosts_and_jobs_are_told_by_their_age() -> None:
    seen = {"here": NOW - timedelta(minutes=59), "gone": NOW - timedelta(minutes=61)}
    found = replace(NOTHING, last_runs=seen, jobs={State.QUEUED: 2}, queued_since=NOW - timedelta(seconds=90))
    told = values(ServiceMetrics(found, NOW, "1.2").collect())
    assert told["hosts_active", ""] == 1
    assert told["host_last_run_timestamp_seconds", "gone"] == seen["gone"].timestamp()
    assert (told["jobs", "queued"], told["jobs_oldest_queued_seconds", ""]) == (2, 90)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_what_was_measured_is_counted(api: Api) -> None:
    # Nobody judges the task clock.
    good = [reports.report(number, 100, others={"task-clock": 1.5}) for number in (1, 2, 3)]
    api.send(*good, reports.report(6, 300, experimental=True), reports.failed_build(5))
    answer = api.client.get("/metrics")
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    told = values(text_string_to_metric_families(answer.text))
    runs = [told["runs_total", kind] for kind in ("measured false", "measured true", "failed false")]
    assert runs == [3, 1, 1]
    assert told["hosts_active", ""] == 0
    newest = reports.failed_build(6).started_at
    assert told["host_last_run_timestamp_seconds", "box"] == newest.timestamp()
    assert told["drifts_open", ""] == len(api.drifts())
    assert told["series_unjudged", ""] == 0
    assert told["database_size_bytes", ""] > 100_000


def test_prometheus_gets_no_page_to_sign_in(client: FlaskClient, config: Config) -> None:
    assert client.get("/metrics", headers={"Accept": PROMETHEUS}).mimetype == "text/plain"
    closed = create_app(config.copy_with_values(access=Access.TOKENS)).test_client()
    assert closed.get("/metrics", headers={"Accept": PROMETHEUS}).status_code == 401


def test_the_dashboard_of_grafana_asks_for_metrics_and_labels_that_there_are(api: Api) -> None:
    api.send(reports.report(1, 100, 100))
    families = text_string_to_metric_families(api.client.get("/metrics").text)
    labels = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    board = json.loads((ROOT / "setup/monitoring/grafana.json").read_text(encoding="utf-8"))
    asked = [target for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) > 10
    for target in asked:
        (name,) = re.findall(r"faultwatch_\w+", target["expr"])
        assert name in labels, target
        used = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]) + re.findall(r"(\w+)=~", target["expr"])
        assert set(used) <= labels[name], target
    places = [panel["gridPos"] for panel in board["panels"]]
    assert len({(place["x"], place["y"]) for place in places}) == len(places)
    assert all(place["x"] + place["w"] <= 24 for place in places)
