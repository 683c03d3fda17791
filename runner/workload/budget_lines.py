"""Finds the line of each budget in a workload file, so that an exceeded budget can be annotated there."""

import tomllib


def find_budget_lines(text: str) -> dict[str, int]:
    """Return the number of the line, from 1, in which the budget of each metric ends, by metric.

    Up to this line, and no earlier one, the file is valid TOML that contains the budget.
    """
    lines_by_metric: dict[str, int] = {}
    lines = text.splitlines()
    for number in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # The text ends in the middle of a value.
        metrics = document.get("metrics")
        budgets = metrics.get("budget") if isinstance(metrics, dict) else None
        for name in budgets if isinstance(budgets, dict) else ():
            lines_by_metric.setdefault(name, number)
    return lines_by_metric
