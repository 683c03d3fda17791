"""The digest of a nightly run as Markdown, for the summary of a CI job."""

from runner.cli.formatting import format_value
from runner.contract.nightly import NightlyDigest
from runner.nightly.digest import list_gaps

_MAX_ROWS = 500
"""The largest number of rows of each table."""


def render_digest(digest: NightlyDigest) -> str:
    """Return a nightly run as Markdown: a sentence, the table of its drifts, and what did not run and why."""
    lines = [f"## Nightly run {escape_markdown(digest.name)}: {escape_markdown(digest.sentence)}", ""]
    if digest.drifts:
        lines += ["| host | case | metric | before | after | cause | revision |", "|---|---|---|--:|--:|---|---|"]
        for drift in digest.drifts[:_MAX_ROWS]:
            levels = format_value(drift.metric, drift.before), format_value(drift.metric, drift.after)
            cells = (drift.host, drift.case, drift.metric, *levels, drift.cause, drift.blamed)
            lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
        lines.append("")
    gaps = list(list_gaps(digest))
    if gaps:
        lines += ["| host | configuration | workload | what did not run, and why |", "|---|---|---|---|"]
        for cell, reason in gaps[:_MAX_ROWS]:
            columns = (cell.host, cell.configuration, cell.workload, reason)
            lines.append(f"| {' | '.join(map(escape_markdown, columns))} |")
        lines.append("")
    return "\n".join(lines) + "\n"


def escape_markdown(raw: str) -> str:
    """Escape text: each character with a meaning in Markdown or HTML becomes an entity."""
    line = " ".join(raw.split())
    return "".join(char if char.isalnum() or char in " ,=+-–→%" else f"&#{ord(char)};" for char in line)
