"""Metrics of the service itself, in the Prometheus text format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flask import Blueprint, Response
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from runner.contract import Outcome
from runner.contract.job import State
from service.installed_version import VERSION
from service.store import service_figures as figures
from service.store.service_figures import Figures
from service.web import concurrency_limits
from service.web.app_resources import get_database

bp = Blueprint("metrics", __name__)

ACTIVE_TIME = timedelta(hours=1)
"""A host is active if it began a run within this time."""


@bp.get("/metrics")
def show() -> Response:
    """Return the current figures, in the Prometheus text format."""
    with get_database().reading() as session:
        current = figures.read_figures(session)
    metrics = ServiceMetrics(
        current, datetime.now(UTC), VERSION, refused_requests=concurrency_limits.count_refused_requests()
    )
    text = generate_latest(metrics)
    return Response(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)


@dataclass(frozen=True)
class ServiceMetrics:
    """The metrics of the service at one moment. All worker processes of a machine return the same values."""

    figures: Figures
    now: datetime
    version: str
    refused_requests: int = 0

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        yield _build_gauge("faultwatch_build_info", "The running version.", "version", {self.version: 1})
        yield from self._collect_run_and_host_metrics()
        yield from self._collect_queue_metrics()
        yield GaugeMetricFamily(
            "faultwatch_drifts_open", "Drifts that do not belong to a closed event.", self.figures.drifts
        )
        yield GaugeMetricFamily("faultwatch_database_size_bytes", "Size of the database.", self.figures.size)
        yield CounterMetricFamily(
            "faultwatch_requests_refused",
            "Requests to store reports that this machine refused because it was temporarily busy.",
            self.refused_requests,
        )

    def _collect_run_and_host_metrics(self) -> Iterator[Metric]:
        """Yield the metrics about runs and hosts."""
        runs = CounterMetricFamily(
            "faultwatch_runs", "Stored runs. Quarantined runs are never judged.", labels=["outcome", "quarantined"]
        )
        for outcome in Outcome:
            for is_quarantined in (False, True):
                runs.add_metric(
                    [outcome, str(is_quarantined).lower()], self.figures.runs.get((outcome, is_quarantined), 0)
                )
        yield runs
        last_runs = {host: began_at.timestamp() for host, began_at in self.figures.last_runs.items()}
        yield _build_gauge(
            "faultwatch_host_last_run_timestamp_seconds", "When the host's newest run began.", "host", last_runs
        )
        active = sum(began_at > self.now - ACTIVE_TIME for began_at in self.figures.last_runs.values())
        yield GaugeMetricFamily("faultwatch_hosts_active", "Hosts that began a run within the last hour.", active)

    def _collect_queue_metrics(self) -> Iterator[Metric]:
        """Yield the metrics about waiting jobs, messages, webhooks and series."""
        jobs = {state.value: self.figures.jobs.get(state, 0) for state in State}
        yield _build_gauge("faultwatch_jobs", "Jobs by state.", "state", jobs)
        since = self.figures.queued_since
        waited_seconds = 0.0 if since is None else max(0.0, (self.now - since).total_seconds())
        yield GaugeMetricFamily(
            "faultwatch_jobs_oldest_queued_seconds",
            "Age of the oldest queued job; 0 if no job is queued.",
            waited_seconds,
        )
        yield _build_gauge(
            "faultwatch_notifications_waiting",
            "Messages to channels and results for forges that are waiting to be sent.",
            "to",
            self.figures.messages,
        )
        yield GaugeMetricFamily(
            "faultwatch_webhooks_waiting",
            "Webhooks received from forges but not handled yet.",
            self.figures.pending_webhooks,
        )
        yield GaugeMetricFamily(
            "faultwatch_series_unjudged", "Series that are waiting to be judged.", self.figures.unjudged
        )


def _build_gauge(name: str, description: str, label: str, values: Mapping[str, float]) -> Metric:
    """Return a gauge with one value for each label."""
    family = GaugeMetricFamily(name, description, labels=[label])
    for label_value, value in values.items():
        family.add_metric([label_value], value)
    return family
