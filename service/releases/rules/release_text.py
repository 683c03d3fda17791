"""Writes what changed between two releases as Markdown, for release notes and issues."""

from __future__ import annotations

from runner.contract import metric
from service.releases.schemas import ReleaseChange, ReleasePart, Releases
from service.schemas.history import Certainty
from service.text.markdown import code, make_plain
from service.text.numbers import format_difference, format_number, format_percent

_MAX_LISTED = 100
_CERTAIN = {
    Certainty.PROVEN: "proven",
    Certainty.SINGLE: "only candidate",
    Certainty.RANGE: "not narrowed down",
    Certainty.CONFIRMED: "configuration",
}


def markdown(found: Releases) -> str:
    """Return a table with a row for each changed series, the largest change first, at most a hundred."""
    head = f"### {make_plain(found.subject)}: {make_plain(found.base.name)} to {make_plain(found.head.name)}"
    if not found.changes:
        return f"{head}\n\nNo judged series changed ({found.unchanged:,} compared).\n"
    rows = [_row(change) for change in found.changes[:_MAX_LISTED]]
    more = len(found.changes) - len(rows)
    lines = [
        head,
        "",
        f"{len(found.changes):,} series changed, {found.unchanged:,} did not, over {found.commits:,} commits.",
        "",
        "| case | before | after | change | commits | configuration |",
        "|---|--:|--:|--:|---|---|",
        *rows,
    ]
    return "\n".join([*lines, *(["", f"{more:,} more."] if more else [])]) + "\n"


def _row(change: ReleaseChange) -> str:
    relative = f" ({format_percent(change.percent)})" if change.percent is not None else ""
    cells = (
        f"{code(change.case)} {make_plain(metric(change.metric).title)} on {code(change.host)}",
        format_number(change.before),
        format_number(change.after),
        f"{format_difference(change.change, change.unit)}{relative}",
        _parts(change.commits, change.unit),
        _parts(change.configuration, change.unit),
    )
    return f"| {' | '.join(cells)} |"


def _parts(parts: list[ReleasePart], unit: str) -> str:
    return "<br>".join(_part(part, unit) for part in parts) or "–"


def _part(part: ReleasePart, unit: str) -> str:
    commit = f"{part.commits[0][:12]} " if len(part.commits) == 1 else ""
    # A provisional name says so itself.
    certain = f", {_CERTAIN[part.certainty]}" if part.certainty is not Certainty.PROVISIONAL else ""
    return f"{format_difference(part.change, unit)}: {commit}{code(part.name)}{certain}"
