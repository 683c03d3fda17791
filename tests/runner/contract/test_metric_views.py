"""What shows few metrics shows those that matter there."""

from runner.cli import remedy_tables
from runner.contract.metrics import CATALOGUE, MetricView, list_shown_metrics

FAULTS = ["minor-faults", "major-faults"]


def test_each_view_shows_the_judged_metrics_and_its_own() -> None:
    shown = {view: [name for name in list_shown_metrics(view) if name not in FAULTS] for view in MetricView}
    assert all(list_shown_metrics(view)[:2] == FAULTS for view in MetricView)
    assert shown == {
        MetricView.COMPARISON: [
            *("sys-percent", "elapsed", "throughput", "latency-p50", "latency-p99", "latency-p99.9"),
            "scaling-efficiency",
        ],
        MetricView.DRIFT: ["sys-percent", "throughput"],
        MetricView.MATRIX: [
            "faults-per-operation",
            "sys-percent",
            "elapsed",
            "throughput",
            "max-rss",
            "scaling-efficiency",
        ],
        MetricView.REMEDY: ["sys-percent", "elapsed", "throughput", "max-rss"],
        MetricView.REMEDY_TABLE: [
            "faults-per-operation",
            "task-clock",
            "sys-percent",
            "elapsed",
            "throughput",
            "max-rss",
        ],
    }
    assert remedy_tables._list_metrics()[:3] == [*FAULTS, "region:minor-faults"]


def test_the_table_of_many_cases_has_few_columns() -> None:
    assert [entry.column.replace("\n", " ") for entry in CATALOGUE.values() if entry.column] == [
        "minor faults",
        "major faults",
        "sys %",
        "elapsed",
        "operations a second",
        "in theory",
        "t(1) / t(N)",
    ]
