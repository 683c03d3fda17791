"""The drifts of a range of commits as lines of plain characters: a line for each case, a column for each commit."""

from collections.abc import Mapping, Sequence
from typing import Any

_NO_MARK, _SETTING_MARK = ".", "|"
_MAX_CASES = 20
"""Cases that have a line, so that a matrix does not fill the screen."""
_MIN_COLUMNS, _MAX_NAME_CHARACTERS = 10, 40


def draw_drift_map(drifts: Sequence[Mapping[str, Any]], commits: Sequence[str], width: int) -> list[str]:
    """Return the map of some drifts; no lines unless more than one case moved.

    ``+`` is worse and ``-`` is better, ``*`` both, and ``?`` suspected. If there are more commits than columns,
    each column stands for several of them.

    Parameters
    ----------
    commits
        The commits of the range, oldest first.
    width
        The width of the terminal, in characters.
    """
    position = {commit: index for index, commit in enumerate(commits)}
    drifts_in_range = [drift for drift in drifts if drift["revision"] in position]
    drifts_by_case: dict[str, list[Mapping[str, Any]]] = {}
    for drift in sorted(drifts_in_range, key=lambda drift: -_compute_level_ratio(drift)):
        drifts_by_case.setdefault(drift["case"], []).append(drift)
    if len(drifts_by_case) < 2:
        return []
    shown_cases = list(drifts_by_case.items())[:_MAX_CASES]
    max_name_width = min(_MAX_NAME_CHARACTERS, max(width - _MIN_COLUMNS - 2, 1))
    name_width = min(max_name_width, max(len(name) for name in ("settings", *(case for case, _ in shown_cases))))
    commits_per_column = -(-len(commits) // max(width - name_width - 2, _MIN_COLUMNS))
    column_of = {commit: index // commits_per_column for commit, index in position.items()}
    n_columns = -(-len(commits) // commits_per_column)
    lines = [
        f"{_fit_width(case, name_width)}  {_draw_line(case_drifts, column_of, n_columns)}".rstrip()
        for case, case_drifts in shown_cases
    ]
    if any(drift["settings"] for drift in drifts_in_range):
        changed = {column_of[drift["revision"]] for drift in drifts_in_range if drift["settings"]}
        marks = "".join(_SETTING_MARK if column in changed else _NO_MARK for column in range(n_columns))
        lines.append(f"{'settings':<{name_width}}  {marks}")
    legend = "+ worse  - better  * both  ? suspected  | a setting changed"
    lines.append(legend if commits_per_column == 1 else f"{legend}; a column is {commits_per_column:,} commits")
    if hidden := len(drifts_by_case) - len(shown_cases):
        lines.append(f"{hidden:,} more case{'s' if hidden != 1 else ''} moved less.")
    return lines


def _draw_line(drifts: Sequence[Mapping[str, Any]], column_of: Mapping[str, int], n_columns: int) -> str:
    marks: list[set[str]] = [set() for _ in range(n_columns)]
    for drift in drifts:
        marks[column_of[drift["revision"]]].add(_choose_mark(drift))
    return "".join(_join_marks(column_marks) for column_marks in marks)


def _choose_mark(drift: Mapping[str, Any]) -> str:
    if drift.get("evidence", {}).get("wants_rerun"):
        return "?"
    return "+" if drift["direction"] == "regression" else "-"


def _join_marks(marks: set[str]) -> str:
    """Return one character for all drifts of a column: what is certain hides what is suspected."""
    certain_marks = marks - {"?"}
    if len(certain_marks) > 1:
        return "*"
    return next(iter(certain_marks or marks), _NO_MARK)


def _compute_level_ratio(drift: Mapping[str, Any]) -> float:
    """Return the factor between both levels, which orders the cases."""
    low, high = sorted((abs(drift["before"]), abs(drift["after"])))
    return high / low if low else float("inf")


def _fit_width(name: str, width: int) -> str:
    return f"{name:<{width}}" if len(name) <= width else f"{name[: max(width - 3, 0)]}..."[:width]
