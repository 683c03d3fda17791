"""Reports as tables: every metric of a few cases, or the main metrics of many."""

from collections.abc import Sequence
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

from runner.cli.console import make_console
from runner.cli.formatting import escape_text, format_value, format_value_range, has_own_unit
from runner.contract.metrics import CATALOGUE, Kind, get_metric
from runner.contract.number_text import format_count
from runner.contract.report import Outcome, Report, Status, Window
from runner.contract.steady_state import align_windows, describe_still_faulting_samples, find_value_range

THEORETICAL_METRICS = ("expected-faults", "unexplained-faults")
_DEFAULT_REASONS = {
    Status.NOT_COUNTED: "no hardware counter was free while the program ran",
    Status.NOT_SUPPORTED: "this host has no such counter",
}
"""The reasons for a missing value, by status, for which perf gives no reason itself."""
_MAX_LINE_CHARACTERS = 18
"""The longest text of a parameter and its value that stays on one line; also the width of a column for a case."""
_METRIC_CHARACTERS = 40
"""The approximate width of the columns for the name of a metric and its unit."""
_UNLIMITED_WIDTH = 1000
"""A width in characters in which no line is wrapped."""
_MAX_LOG_CHARACTERS = 2000
"""How many characters from the end of a failure's log are shown."""


def show_reports(reports: Sequence[Report]) -> None:
    """Print the counts: all metrics if a column for each case fits, otherwise a row of the main metrics for each case.

    Then print the remarks of the measurements, and the cases that were not measured, with the reason and the end of
    the log.
    """
    console = make_console()
    measured_reports = [report for report in reports if report.samples]
    max_columns = max(1, (console.width - _METRIC_CHARACTERS) // _MAX_LINE_CHARACTERS)
    if measured_reports and len(measured_reports) <= max_columns:
        _show_metrics(console, measured_reports)
    elif measured_reports:
        _show_summary(console, measured_reports)
    for report in measured_reports:
        if any(sample.windows for sample in report.samples):
            _show_windows(console, report)
    for remark in dict.fromkeys(remark for report in measured_reports for remark in report.remarks):
        console.print(escape_text(remark), style="dim", highlight=False)
    printed_logs: set[str] = set()
    for report in reports:
        if report.failure:
            console.print(
                f"[yellow]{escape_text(report.case.name)}: {report.outcome}: {escape_text(report.failure.message)}[/]"
            )
            # Print the same log only once: after a failed build, the reports of all cases share it.
            log = report.failure.log
            if log and report.outcome is Outcome.FAILED and log not in printed_logs:
                printed_logs.add(log)
                console.print(escape_text(log[-_MAX_LOG_CHARACTERS:]), style="dim", highlight=False)


def _show_metrics(console: Console, reports: Sequence[Report]) -> None:
    """Print a table with a row for each metric and a column for each report."""
    differing_parameters = _find_differing_parameters(reports)
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("metric", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for report in reports:
        lines = [f"{name}={report.case.parameters.get(name, '')}" for name in differing_parameters] or ["value"]
        min_width = min(max(map(len, lines)), _MAX_LINE_CHARACTERS)
        table.add_column(escape_text("\n".join(lines)), justify="right", overflow="fold", min_width=min_width)
    for name in _list_metrics(reports):
        table.add_row(
            escape_text(name),
            "" if has_own_unit(name) else get_metric(name).unit,
            *(_format_cell(report, name) for report in reports),
        )
    _print_title(console, reports, differing_parameters)
    console.print(table)
    for line in _list_missing_reasons(reports):
        console.print(escape_text(line), style="dim", highlight=False)


_WINDOW_METRICS = (
    "minor-faults",
    "major-faults",
    "rwsem-waits",
    "elapsed",
    "throughput",
    "latency-p99",
    "resident-growth",
)


def _show_windows(console: Console, report: Report) -> None:
    """Print the counts of a server's windows, each over all starts, and whether the server still faults."""
    starts = [sample.windows for sample in report.samples if sample.windows]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("window", no_wrap=True)
    names = [name for name in _WINDOW_METRICS if any(name in windows[0].readings for windows in starts)]
    for name in names:
        table.add_column(escape_text(name), justify="right")
    for row in align_windows(starts):
        title = f"{row.number}, warm-up" if row.is_warm_up else str(row.number)
        table.add_row(title, *(_format_window_cell(row.windows, name) for name in names))
    console.print(f"By window, {format_count(len(starts), 'start')}", style="italic", highlight=False)
    console.print(table)
    sentence = describe_still_faulting_samples(report.samples, report.environment.settings)
    if sentence:
        console.print(escape_text(sentence), style="yellow", highlight=False)


def _format_window_cell(windows: Sequence[Window], name: str) -> str:
    """Format a metric of the same window in all starts: its value or its range; empty if it was not measured."""
    value_range = find_value_range(windows, name)
    if value_range is None:
        return ""
    low, high = value_range
    return format_value(name, low) if low == high else format_value_range(name, low, high)


def _list_missing_reasons(reports: Sequence[Report]) -> list[str]:
    """Return why metrics have no value in any sample, one line for each reason."""
    metrics_by_explanation: dict[str, list[str]] = {}
    for report in reports:
        for name in _list_metrics(reports):
            readings = report.list_readings(name)
            if not readings or report.list_values(name):
                continue
            status, reason = readings[0].status, readings[0].reason
            # A reason with the name of the metric comes from perf, and only says that there is no value.
            if not reason or name in reason:
                reason = _DEFAULT_REASONS.get(status, "no reason given")
            names = metrics_by_explanation.setdefault(f"{status.replace('_', ' ')}: {reason}", [])
            if name not in names:
                names.append(name)
    return [f"{', '.join(names)}: {explanation}" for explanation, names in metrics_by_explanation.items()]


def _show_summary(console: Console, reports: Sequence[Report]) -> None:
    """Print a table with a row for each report, and only the most important metrics as columns."""
    differing_parameters = _find_differing_parameters(reports)
    columns = {
        CATALOGUE[name].column: (f"region:{name}", name)  # the metric of the region comes first, if there is one
        for name in _sort_theoretical_counts([name for name, entry in CATALOGUE.items() if entry.column])
        if any(_format_short_metric(report, (f"region:{name}", name)) for report in reports)
    }
    table = Table(box=box.SIMPLE_HEAD, padding=0)
    for name in differing_parameters:
        table.add_column(escape_text(name), no_wrap=True)
    for title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for report in reports:
        point = [escape_text(str(report.case.parameters.get(name, ""))) for name in differing_parameters]
        table.add_row(*point, *(_format_short_metric(report, names) for names in columns.values()))
    _print_title(console, reports, differing_parameters)
    # If the table is too wide, let the terminal wrap its lines instead of cutting digits.
    table_width = make_console(width=_UNLIMITED_WIDTH).measure(table).maximum
    make_console(width=max(console.width, table_width)).print(table, crop=False)
    console.print("To see every metric, choose fewer cases with --set, or use --json.", style="dim", highlight=False)


def _print_title(console: Console, reports: Sequence[Report], differing_parameters: Sequence[str]) -> None:
    """Print the title, which contains everything that all cases have in common."""
    first_report = reports[0]
    common = {name: value for name, value in first_report.case.parameters.items() if name not in differing_parameters}
    case = first_report.case.model_copy(update={"parameters": common})
    title = f"{case.name}, {first_report.subject} at {first_report.revision.commit[:10]}"
    console.print(escape_text(title), style="italic", highlight=False, soft_wrap=True)


def _find_differing_parameters(reports: Sequence[Report]) -> list[str]:
    """Return the parameters whose values differ between the cases, in the order of the workload file."""
    names = dict.fromkeys(name for report in reports for name in report.case.parameters)
    return [name for name in names if len({str(report.case.parameters.get(name)) for report in reports}) > 1]


def _list_metrics(reports: Sequence[Report]) -> list[str]:
    """Return the metrics of the reports, in the order in which they are shown."""
    return _sort_theoretical_counts(list(dict.fromkeys(name for report in reports for name in report.metrics)))


def _sort_theoretical_counts(names: Sequence[str]) -> list[str]:
    """Move theoretical counts directly below the measured count; without one, to the end."""
    theoretical_counts = [name for name in THEORETICAL_METRICS if name in names]
    other_names = [name for name in names if name not in theoretical_counts]
    index = len(other_names)
    for measured_count in ("region:page-faults", "page-faults", "major-faults"):
        if measured_count in other_names:
            index = other_names.index(measured_count) + 1
            break
    return other_names[:index] + theoretical_counts + other_names[index:]


def _format_cell(report: Report, metric: str) -> str:
    """Format a metric of a run: one value if all samples agree, otherwise the range; or why there is no value.

    If several processes have the same count, it is shown as N × count.
    """
    values = report.list_values(metric)
    readings = report.list_readings(metric)
    if not values:
        return readings[0].status.replace("_", " ") if readings else "not measured"
    low, high = min(values), max(values)
    text = format_value(metric, low) if low == high else format_value_range(metric, low, high)
    process_values = {
        process_readings[metric].value
        for sample in report.samples
        for process_readings in sample.processes
        if metric in process_readings
    }
    if get_metric(metric).kind is Kind.COUNT and len(process_values) == 1:
        value = process_values.pop()
        if value:
            text = f"{len(report.samples[0].processes)} × {format_value(metric, value)}"
    is_estimated = any(reading.status is Status.MULTIPLEXED for reading in readings)
    return f"~{text}" if is_estimated else text


def _format_short_metric(report: Report, names: Sequence[str]) -> str:
    """Format the first available metric: a count in full, others as their median; empty if there is none."""
    name = next((name for name in names if report.list_values(name)), None)
    if name is None:
        return ""
    if get_metric(name).kind is Kind.COUNT:
        return _format_cell(report, name)
    return format_value(name, median(report.list_values(name)))
