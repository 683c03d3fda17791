"""Packs the data of charts, because a site has hundreds of charts, whose runs mostly repeat the same values.

The commits of all charts are in one script of the site. In a chart, each field of the runs becomes a single value if
all runs share it, and otherwise a column. ``trend/unpack.js`` restores the runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

COMMITS_FILE = "static/commits.js"
_MIN_REPEATS = 3
"""A column whose values repeat at least this often on average is packed as its different values and their indexes."""
_RUN_LISTS = ("path", "beside")
_COMMIT_FIELDS = ("commit", "title", "t")
_OMITTED_FIELDS = frozenset({*_COMMIT_FIELDS, "url"})
"""The fields of a run without a column: those of its commit, and the address of its page, which a site lacks."""


class ChartPacker:
    """Packs the charts of a site, and collects the commits of all charts."""

    def __init__(self) -> None:
        self._commits: dict[tuple[Any, ...], int] = {}

    def pack(self, text: str) -> str:
        """Return the JSON of a chart in packed form; return any other JSON unchanged."""
        chart = json.loads(text)
        if not isinstance(chart, dict) or not all(name in chart for name in _RUN_LISTS):
            return text
        packed = {name: self._pack_runs(chart[name]) for name in _RUN_LISTS}
        return _format_json({**chart, **packed})

    def format_commits_script(self) -> str:
        """Return the script with the commits of all charts that were packed."""
        # Without commits, zip would yield no columns at all instead of empty columns.
        columns = list(zip(*self._commits, strict=True)) or [()] * len(_COMMIT_FIELDS)
        return f"globalThis.commitsOfCharts = {_format_json(dict(zip(_COMMIT_FIELDS, columns, strict=True)))};\n"

    def _pack_runs(self, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the runs of a chart by column, with their commits as indexes in the list that all charts share."""
        commit_numbers = [
            self._commits.setdefault(tuple(run[name] for name in _COMMIT_FIELDS), len(self._commits)) for run in runs
        ]
        # All runs have the same fields.
        fields = [name for name in (runs[0] if runs else ()) if name not in _OMITTED_FIELDS]
        columns = {name: _pack_column([run[name] for run in runs]) for name in fields}
        for name in ("low", "high"):  # both equal y if the counts repeat
            if columns.get(name) == columns.get("y"):
                columns.pop(name, None)
        return {"n_runs": len(runs), "at": commit_numbers, **columns}


def _pack_column(values: list[Any]) -> Any:
    """Return one value if all are equal, the different values with indexes if many repeat, or otherwise all values."""
    # The keys include the type, because Python considers 1, 1.0 and True equal.
    unique_values = {(type(value), value): value for value in values}
    if len(unique_values) == 1:
        return values[0]
    if len(unique_values) * _MIN_REPEATS > len(values):
        return values
    value_indexes = {key: index for index, key in enumerate(unique_values)}
    return {"of": list(unique_values.values()), "at": [value_indexes[type(value), value] for value in values]}


def _format_json(document: Any) -> str:
    """Return JSON that is safe in a page or a script: no text in it can end the element or the script."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&'\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
