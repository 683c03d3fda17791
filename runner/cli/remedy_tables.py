"""The effect of a remedy as a table on a terminal."""

from collections.abc import Sequence
from statistics import median

from rich.table import Table

from runner.cli.console import make_console
from runner.cli.formatting import escape_text, format_percent, format_value
from runner.contract.metrics import MetricView, get_metric, list_shown_metrics
from runner.contract.number_text import format_count
from runner.measuring.comparison import ComparisonResult


def show_remedy(result: ComparisonResult, settings: Sequence[str]) -> None:
    """Print the metrics without and with the remedy ``settings``, or why a side could not be measured."""
    console = make_console()
    console.print(
        f"[bold]{escape_text(result.base.case.name)}[/] with {escape_text(' '.join(settings))}", highlight=False
    )
    if result.comparison is None:
        for side in (result.base, result.head):
            if side.failure:
                console.print(f"[yellow]{side.outcome}: {escape_text(side.failure.message)}[/]", highlight=False)
        return
    verdicts = {metric_verdict.metric: metric_verdict for metric_verdict in result.comparison.metrics}
    table = Table()
    for title in ("metric", "before", "after", "change", "verdict"):
        table.add_column(title, justify="left" if title in {"metric", "verdict"} else "right", no_wrap=True)
    for name in _list_metrics():
        before, after = result.base.list_values(name), result.head.list_values(name)
        if not before or not after:
            continue  # this host did not measure the metric
        before_median, after_median = median(before), median(after)
        if before_median:
            change = format_percent(100 * (after_median - before_median) / before_median)
        else:
            change = format_value(name, after_median - before_median, sign=True)
        verdict = verdicts[name].verdict.value.replace("_", " ") if name in verdicts else ""
        table.add_row(
            get_metric(name).title, format_value(name, before_median), format_value(name, after_median), change, verdict
        )
    console.print(table)
    console.print(f"{format_count(len(result.base.samples), 'pair')}, interleaved A/B. Nothing is stored.", style="dim")


def _list_metrics() -> list[str]:
    """Return the metrics of the table, with the minor faults of the region of interest below the judged metrics."""
    names = list_shown_metrics(MetricView.REMEDY_TABLE)
    last_judged_index = max(index for index, name in enumerate(names) if get_metric(name).judged)
    return [*names[: last_judged_index + 1], "region:minor-faults", *names[last_judged_index + 1 :]]
