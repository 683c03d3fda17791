"""The digest of a nightly run as Markdown, for the summary of a CI job."""

from collections.abc import Sequence

from runner.cli.formatting import format_value
from runner.contract.nightly import NightlyDigest, NightlyDrift
from runner.nightly.digest import list_gaps

_MAX_ROWS = 500
"""The largest number of rows of each table."""
_MAX_TABLE_BYTES = 400_000
"""The largest size of the rows of each table: GitHub refuses the summary of a step if it exceeds 1 MiB."""
_MAX_CELL_CHARACTERS = 1_000
"""The largest number of characters of a cell: a reason can be the output of a program."""


def render_digest(digest: NightlyDigest) -> str:
    """Return a nightly run as Markdown: a sentence, the table of its drifts, and what did not run and why."""
    lines = [f"## Nightly run {escape_markdown(digest.name)}: {escape_markdown(digest.sentence)}", ""]
    if digest.drifts:
        lines += ["| host | case | metric | before | after | cause | revision |", "|---|---|---|--:|--:|---|---|"]
        lines += _render_rows([_list_drift_cells(drift) for drift in digest.drifts])
    gaps = list(list_gaps(digest))
    if gaps:
        lines += ["| host | configuration | workload | what did not run, and why |", "|---|---|---|---|"]
        lines += _render_rows([(cell.host, cell.configuration, cell.workload, reason) for cell, reason in gaps])
    return "\n".join(lines) + "\n"


def _list_drift_cells(drift: NightlyDrift) -> Sequence[str]:
    levels = format_value(drift.metric, drift.before), format_value(drift.metric, drift.after)
    return drift.host, drift.case, drift.metric, *levels, drift.cause, drift.blamed


def _render_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table after its header; if there are too many rows, say how many are left out."""
    lines: list[str] = []
    size = 0
    for row in rows[:_MAX_ROWS]:
        line = f"| {' | '.join(escape_markdown(cell[:_MAX_CELL_CHARACTERS]) for cell in row)} |"
        size += len(line.encode())
        if size > _MAX_TABLE_BYTES:
            break
        lines.append(line)
    n_omitted = len(rows) - len(lines)
    return [*lines, "", *([f"… and {n_omitted} more.", ""] if n_omitted else [])]


def escape_markdown(raw: str) -> str:
    """Escape text: each character with a meaning in Markdown or HTML becomes an entity."""
    line = " ".join(raw.split())
    return "".join(char if char.isalnum() or char in " ,=+-–→%" else f"&#{ord(char)};" for char in line)
