"""On which line of a workload file each budget stands, so that whoever reads the file sees which one does not hold."""

import tomllib


def budget_lines(text: str) -> dict[str, int]:
    """Return the line at which the budget of each metric is complete, counted from 1.

    That is the first line up to which the file reads as TOML that has it, however it is written.
    """
    found: dict[str, int] = {}
    lines = text.splitlines()
    for number in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        metrics = document.get("metrics")
        budgets = metrics.get("budget") if isinstance(metrics, dict) else None
        for name in budgets if isinstance(budgets, dict) else ():
            found.setdefault(name, number)
    return found
