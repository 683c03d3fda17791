"""Draws the drifts of a range of commits in plain characters: a line for each case, and a column for each commit."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from runner.contract.number_text import format_count

_NO_MARK, _SETTING_MARK = ".", "|"
_MAX_CASES = 20
"""The largest number of cases with a line, so that a parameter matrix does not fill the screen."""
_MIN_COLUMNS = 10
"""The number of columns for commits even on a very narrow terminal."""
_MAX_NAME_CHARACTERS = 40
_GAP = "  "
"""The separator between the name of a case and its columns."""


def draw_drift_map(drifts: Sequence[Mapping[str, Any]], commits: Sequence[str], width: int) -> list[str]:
    """Return the lines of a map of drifts; none unless several cases moved, because a map is for comparing cases.

    ``+`` is worse, ``-`` is better, ``*`` is both, and ``?`` is suspected. If there are more commits than columns, each
    column stands for several commits.

    Parameters
    ----------
    commits
        The commits of the range, oldest first.
    width
        The width of the terminal, in characters.
    """
    positions = {commit: index for index, commit in enumerate(commits)}
    drifts_in_range = [drift for drift in drifts if drift["revision"] in positions]
    drifts_by_case: dict[str, list[Mapping[str, Any]]] = {}
    for drift in sorted(drifts_in_range, key=lambda drift: -_compute_level_ratio(drift)):
        drifts_by_case.setdefault(drift["case"], []).append(drift)
    if len(drifts_by_case) < 2:
        return []
    shown_cases = list(drifts_by_case.items())[:_MAX_CASES]
    # Divide the width between the names and the columns.
    max_name_width = min(_MAX_NAME_CHARACTERS, max(width - _MIN_COLUMNS - len(_GAP), 1))
    names = ["settings", *(case for case, _ in shown_cases)]
    name_width = min(max_name_width, max(len(name) for name in names))
    max_columns = max(width - name_width - len(_GAP), _MIN_COLUMNS)
    commits_per_column = math.ceil(len(commits) / max_columns)
    column_of = {commit: index // commits_per_column for commit, index in positions.items()}
    n_columns = math.ceil(len(commits) / commits_per_column)
    # Draw the cases, the settings and the legend.
    lines = [
        f"{_fit_width(case, name_width)}{_GAP}{_draw_line(case_drifts, column_of, n_columns)}".rstrip()
        for case, case_drifts in shown_cases
    ]
    if any(drift["settings"] for drift in drifts_in_range):
        changed_columns = {column_of[drift["revision"]] for drift in drifts_in_range if drift["settings"]}
        marks = "".join(_SETTING_MARK if column in changed_columns else _NO_MARK for column in range(n_columns))
        lines.append(f"{'settings':<{name_width}}{_GAP}{marks}")
    legend = "+ worse  - better  * both  ? suspected  | a setting changed"
    lines.append(
        legend if commits_per_column == 1 else f"{legend}; each column stands for {commits_per_column:,} commits"
    )
    n_hidden_cases = len(drifts_by_case) - len(shown_cases)
    if n_hidden_cases:
        lines.append(f"{format_count(n_hidden_cases, 'more case')} moved less.")
    return lines


def _draw_line(drifts: Sequence[Mapping[str, Any]], column_of: Mapping[str, int], n_columns: int) -> str:
    """Return the line of a case: a character for each column."""
    marks_by_column: list[set[str]] = [set() for _ in range(n_columns)]
    for drift in drifts:
        marks_by_column[column_of[drift["revision"]]].add(_choose_mark(drift))
    return "".join(_join_marks(marks) for marks in marks_by_column)


def _choose_mark(drift: Mapping[str, Any]) -> str:
    """Return the mark of a drift: suspected (further runs have to confirm it), worse or better."""
    if drift.get("evidence", {}).get("wants_rerun"):
        return "?"
    return "+" if drift["direction"] == "regression" else "-"


def _join_marks(marks: set[str]) -> str:
    """Return one character for all drifts in a column; certain drifts hide suspected ones."""
    certain_marks = marks - {"?"}
    if len(certain_marks) > 1:
        return "*"
    return next(iter(certain_marks or marks), _NO_MARK)


def _compute_level_ratio(drift: Mapping[str, Any]) -> float:
    """Return the factor between the levels before and after, by which cases are sorted; infinity if one is zero."""
    low, high = sorted((abs(drift["before"]), abs(drift["after"])))
    return high / low if low else float("inf")


def _fit_width(name: str, width: int) -> str:
    return f"{name:<{width}}" if len(name) <= width else f"{name[: max(width - 3, 0)]}..."[:width]
