"""Writes the changes between two releases as Markdown, for release notes and issues."""

from __future__ import annotations

import re

from runner.contract import get_metric
from runner.contract.number_text import format_count, format_difference, format_percent, format_quantity
from service.releases.schemas import ReleaseChange, ReleasePart, Releases
from service.schemas.certainty import Cause, Certainty
from service.text.markdown import format_code, make_text_plain

_MAX_LISTED_CHANGES = 100
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9./-]{0,99}")
"""A name without characters that Markdown can interpret."""
_CERTAINTY_WORDS = {
    Certainty.PROVEN: "proven",
    Certainty.SINGLE_COMMIT: "only candidate",
    Certainty.COMMIT_RANGE: "not narrowed down",
    Certainty.CONFIRMED: "configuration",
}


def format_markdown_table(releases: Releases) -> str:
    """Return a table with a row for each series that has drifts, largest change first, with at most a hundred rows."""
    base, head = _format_name(releases.base.name), _format_name(releases.head.name)
    heading = f"### {make_text_plain(releases.subject)}: {base} to {head}"
    if not releases.changes:
        were = "was" if releases.unchanged == 1 else "were"
        compared = f"{releases.unchanged:,} judged series {were} compared"
        return f"{heading}\n\n{compared}, and no drift lies between the releases.\n"
    rows = [_format_row(change) for change in releases.changes[:_MAX_LISTED_CHANGES]]
    # Series without a net change are the last.
    n_omitted = max(0, len(releases.net_changes) + releases.n_undecided - _MAX_LISTED_CHANGES)
    lines = [
        heading,
        "",
        f"{_format_counts(releases)}, over {format_count(releases.commits, 'commit')}.",
        "",
        "| case | before | after | change | commits | configuration |",
        "|---|--:|--:|--:|---|---|",
        *rows,
    ]
    if n_omitted:
        lines += ["", f"Not listed: {n_omitted:,} more series."]
    return "\n".join(lines) + "\n"


def _format_counts(releases: Releases) -> str:
    """Return how many series changed, did not, and are undecided."""
    n_changed, n_undecided = len(releases.net_changes), releases.n_undecided
    if not n_undecided:
        return f"{n_changed:,} series changed and {releases.n_same:,} did not"
    are = "is" if n_undecided == 1 else "are"
    return f"{n_changed:,} series changed, {releases.n_same:,} did not, and {n_undecided:,} {are} undecided"


def _format_name(name: str) -> str:
    """Return the name of a release: as it is if Markdown cannot interpret it, otherwise as inline code."""
    return name if _PLAIN_NAME.fullmatch(name) else format_code(name)


def _format_row(change: ReleaseChange) -> str:
    """Return the row of one change in the Markdown table."""
    percent_text = f" ({format_percent(change.percent)})" if change.percent is not None else ""
    title = get_metric(change.metric).title
    shown_title = title if title != change.metric else format_code(title)  # a name from a workload file is untrusted
    cells = (
        f"{format_code(change.case)} {shown_title} on {format_code(change.host)}",
        format_quantity(change.before, change.unit, change.after),
        format_quantity(change.after, change.unit, change.before),
        f"{format_difference(change.change, change.unit)}{percent_text}",
        _format_parts(change.commits, change.unit),
        _format_parts(change.configuration, change.unit),
    )
    return f"| {' | '.join(cells)} |"


def _format_parts(parts: list[ReleasePart], unit: str) -> str:
    return "<br>".join(_format_part(part, unit) for part in parts) or "–"


def _format_part(part: ReleasePart, unit: str) -> str:
    """Return one part of a change as Markdown: its size, its commit and how certain it is."""
    commit = f"{part.commits[0][:12]} " if len(part.commits) == 1 else ""
    # A provisional part and a part of unknown cause already say so in their names.
    is_named = part.certainty is Certainty.PROVISIONAL or part.cause is Cause.UNKNOWN
    certain = "" if is_named else f", {_CERTAINTY_WORDS[part.certainty]}"
    return f"{format_difference(part.change, unit)}: {commit}{format_code(part.name)}{certain}"
