"""The recorded files of other tools, as sources and as runs."""

from datetime import UTC, datetime
from pathlib import Path

from runner.contract.report import Report
from runner.importing import ImportDefaults, make_reports, read_file
from runner.importing.source import Source

DATA = Path(__file__).parent / "data"
AT = datetime(2026, 1, 5, tzinfo=UTC)
GIVEN = ImportDefaults(subject="parser", this_host="here", revision="v1", started_at=AT)
FILES = {
    "google-benchmark": "google-benchmark.json",
    "hyperfine": "hyperfine.json",
    "pytest-benchmark": "pytest-benchmark.json",
    "criterion": "criterion/sum/new/sample.json",
    "go": "go-bench.txt",
    "jmh": "jmh.json",
    "asv": "asv/bench-host/61c92865-virtualenv-py3.11.json",
    "lnt": "lnt.json",
    "github-action-benchmark": "github-action-benchmark.json",
}
"""One file of each format that is recognised by content alone."""


def text_source(text: str, name: str = "file") -> Source:
    """Return text as a file without neighbours."""
    return Source(text, name, AT)


def reports(name: str, defaults: ImportDefaults = GIVEN) -> dict[str, Report]:
    """Return the reports of a recorded file, by case."""
    return {report.case.name: report for report in make_reports(read_file(DATA / name, defaults), defaults)}


def medians(report: Report) -> dict[str, float]:
    """Return the middle value of each metric."""
    return {name: sorted(report.list_values(name))[len(report.list_values(name)) // 2] for name in report.metrics}
