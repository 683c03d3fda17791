"""Chooses the best cell, which has the fewest page faults, and describes its price in other metrics.

A cell is better only if its faults are certainly fewer than those of the default. It is the best only if no other cell
can have as few: because cells are measured in different sessions, their faults must differ by more than such sessions
can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.contract import get_metric
from runner.contract.level import Number
from runner.contract.number_text import format_difference, format_percent, format_quantity
from service.lab.rules.compare_cell import ELAPSED, FAULTS, MEMORY, SYSTEM_TIME, THROUGHPUT
from service.lab.schemas import Effect, LabCell, LabMetric
from service.rules.series import noise_floor

_PRICE_METRICS = ("major-faults", MEMORY, SYSTEM_TIME, THROUGHPUT, ELAPSED)
_METRIC_NAMES = {MEMORY: "memory", SYSTEM_TIME: "system time", THROUGHPUT: "throughput", ELAPSED: "elapsed time"}
_MAX_LISTED_CELLS = 3


@dataclass(frozen=True, slots=True)
class BestCell:
    """The best cell, if one is certainly the best, and the verdict in words."""

    key: str | None
    sentence: str


def choose_best_cell(cells: Sequence[LabCell], *, other_work: str = "") -> BestCell:
    """Return which cell is the best.

    Parameters
    ----------
    other_work
        The settings that are parameters and change what the program does, in words; empty if there are none.
    """
    other_cells = [cell for cell in cells if not cell.default]
    compared_cells = [cell for cell in other_cells if _is_decided(cell)]
    better_cells = [cell for cell in compared_cells if _get_metric(cell, FAULTS).effect is Effect.BETTER]
    undecided_sentence = _describe_undecided_cells(other_cells, compared_cells)
    if not other_cells:
        return BestCell(None, "Choose settings to compare with the default.")
    if not compared_cells:
        return BestCell(None, f"No comparison with the default has been decided yet.{undecided_sentence}")
    if not better_cells:
        return BestCell(None, f"No cell is certain to have fewer page faults than the default.{undecided_sentence}")
    best_cell = min(better_cells, key=lambda cell: _find_fault_range(cell)[1])
    rivals = [cell for cell in better_cells if cell is not best_cell and not _is_below(best_cell, cell)]
    caveat = f" Note that what the program does depends on {other_work}." if other_work else ""
    if rivals:
        names = [cell.text for cell in (best_cell, *rivals)]
        listed_names = "; ".join(names[:_MAX_LISTED_CELLS])
        if len(names) > _MAX_LISTED_CELLS:
            listed_names += f"; and {len(names) - _MAX_LISTED_CELLS} more"
        sentence = (
            f"No single cell is certain to be the best. {len(names)} cells may have the fewest page faults: "
            f"{listed_names}."
        )
        return BestCell(None, sentence + caveat + undecided_sentence)
    best_faults = _get_metric(best_cell, FAULTS)
    percent_clause = f" ({format_percent(best_faults.percent)})" if best_faults.percent is not None else ""
    sentence = (
        f"Best: {best_cell.text}, {format_quantity(abs(best_faults.change or 0), 'faults')} "
        f"fewer than the default{percent_clause}. "
        f"{_describe_price(best_cell)}"
    )
    return BestCell(best_cell.key, sentence + caveat + undecided_sentence)


def _describe_undecided_cells(other_cells: Sequence[LabCell], compared_cells: Sequence[LabCell]) -> str:
    """Return in words how many of the other cells have not been measured or decided; empty if all are decided."""
    # A cell that is being measured again still has the metrics of its last run.
    n_unmeasured = sum(not cell.metrics for cell in other_cells)
    n_undecided = len(other_cells) - n_unmeasured - len(compared_cells)
    if len(other_cells) == 1 and (n_unmeasured or n_undecided):
        return f" The other cell {'has not been measured' if n_unmeasured else 'is undecided'}."
    parts = []
    if n_unmeasured:
        parts.append(f"{n_unmeasured} {'has' if n_unmeasured == 1 else 'have'} not been measured")
    if n_undecided:
        parts.append(f"{n_undecided} {'is' if n_undecided == 1 else 'are'} undecided")
    return f" Of {len(other_cells)} other cells, {' and '.join(parts)}." if parts else ""


def _describe_price(cell: LabCell) -> str:
    """Return in words which other metrics of a cell are worse, which are better, and which are not certain."""
    costs: list[str] = []
    improvements: list[str] = []
    uncertain_metrics: list[str] = []
    for name in _PRICE_METRICS:
        entry = _find_metric(cell, name)
        if entry is None or entry.level is None:
            continue
        if name == ELAPSED and _find_metric(cell, THROUGHPUT) is not None:
            continue  # It would only repeat the throughput.
        if name == "major-faults" and entry.effect is not Effect.WORSE:
            continue  # Most programs have no major faults.
        metric_name = _METRIC_NAMES.get(name, get_metric(name).title.lower())
        if entry.effect is Effect.OPEN:
            uncertain_metrics.append(f"{metric_name} ({_format_interval(entry)})" if entry.bounds else metric_name)
        elif entry.effect is Effect.WORSE:
            costs.append(f"{metric_name} {_format_change(entry)}")
        elif entry.effect is Effect.BETTER:
            improvements.append(f"{metric_name} {_format_change(entry)}")
    parts = [f"Price: {', '.join(costs)}." if costs else "No cost is certain."]
    if improvements:
        parts.append(f"Also better: {', '.join(improvements)}.")
    if uncertain_metrics:
        parts.append(f"Not certain: {', '.join(uncertain_metrics)}.")
    return " ".join(parts)


def _format_change(entry: LabMetric) -> str:
    """Return the change of a metric in percent or in its unit, with its bounds."""
    formatted_change = (
        format_percent(entry.percent)
        if entry.percent is not None
        else format_difference(entry.change or 0, _get_unit(entry))
    )
    return f"{formatted_change}, {_format_interval(entry)}" if entry.bounds else formatted_change


def _format_interval(entry: LabMetric) -> str:
    low, high = entry.bounds or (0.0, 0.0)
    return f"between {format_percent(low)} and {format_percent(high)}"


def _is_below(cell: LabCell, other_cell: LabCell) -> bool:
    """Return whether a cell certainly has fewer faults than another cell, which was measured in another session."""
    (_, high), (other_low, _) = _find_fault_range(cell), _find_fault_range(other_cell)
    return other_low - high > noise_floor.MAX_FLOOR_FAULTS


def _find_fault_range(cell: LabCell) -> tuple[Number, Number]:
    """Return the range of a cell's faults: only the level if the count repeats, because outliers say nothing then."""
    faults = _get_metric(cell, FAULTS)
    low, high = (faults.level, faults.level) if faults.repeats else (faults.low, faults.high)
    return low or 0, high or 0


def _is_decided(cell: LabCell) -> bool:
    """Return whether a cell was measured, and its faults are certain to be fewer, more or the same."""
    faults = _find_metric(cell, FAULTS)
    return faults is not None and faults.effect is not Effect.OPEN


def _find_metric(cell: LabCell, name: str) -> LabMetric | None:
    return next((entry for entry in cell.metrics if entry.metric == name), None)


def _get_metric(cell: LabCell, name: str) -> LabMetric:
    metric = _find_metric(cell, name)
    assert metric is not None
    return metric


def _get_unit(entry: LabMetric) -> str:
    return get_metric(entry.metric).unit
