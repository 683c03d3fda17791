"""Finds the line of each budget in a workload file, so that an exceeded budget can be annotated there."""

import re
import tomllib

_BUDGET = re.compile(r"^[^#\n]*budget", re.MULTILINE)
"""The beginning of the file up to the first line that can contain a budget."""
_MAX_PARSED_CHARACTERS = 10_000_000
"""How many characters are parsed in total, which takes a few seconds; the lines of later budgets stay unknown."""


def find_budget_lines(text: str) -> dict[str, int]:
    """Return the number of the line, from 1, in which the budget of each metric ends, by metric.

    Up to this line, and no earlier one, the file is valid TOML that contains the budget.
    """
    lines_by_metric: dict[str, int] = {}
    remaining_metrics = set(_list_budgets(text))
    lines = text.split("\n")  # str.splitlines() would also split at characters within comments and strings.
    first_budget = _BUDGET.search(text)
    number = text.count("\n", 0, first_budget.start()) if first_budget else 0
    remaining_characters = _MAX_PARSED_CHARACTERS
    while remaining_metrics and number < len(lines) and remaining_characters > 0:
        number += 1
        beginning = "\n".join(lines[:number]) + "\n"
        remaining_characters -= len(beginning)
        for name in remaining_metrics.intersection(_list_budgets(beginning)):
            lines_by_metric[name] = number
            remaining_metrics.remove(name)
    return lines_by_metric


def _list_budgets(text: str) -> list[str]:
    """Return the metrics that have a budget; none if the text is not valid, such as if it ends within a value."""
    try:
        metrics = tomllib.loads(text).get("metrics")
    except (ValueError, RecursionError):
        return []
    budgets = metrics.get("budget") if isinstance(metrics, dict) else None
    return list(budgets) if isinstance(budgets, dict) else []
