"""The one comment on a pull request, as Markdown. Pure.

The verdict stands first. What is fixed comes next and last, and between them as many rows of the table as fit: whole
rows, so that the table stays one, and with the number of those that were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from runner.contract import MetricVerdict, Verdict, metric
from runner.contract.comparison import Side
from service.github.wording import change, metric_name, since, verdict
from service.rules.gate import insight
from service.rules.gate.verdict import Finding, Judged, Row
from service.text.markdown import block, code
from service.text.numbers import percent, quantity

LIMIT = 65_536
"""GitHub's limit of a comment. It counts characters; here bytes are counted, which is never less."""
_KNOBS = 10
_LONGEST_KNOB = 60
_FAILURES = 3
_LOG = 3_000
_COMMANDS = 3
_LONGEST_COMMAND = 1_000
_HEAD = (
    "| case | metric | base | head | change | noise | verdict |\n| :--- | :--- | ---: | ---: | ---: | :--- | :--- |\n"
)
_FOLD = "<details><summary>{}</summary>\n\n", "\n</details>\n"


@dataclass(frozen=True, slots=True)
class Links:
    """Where more is to be seen; addresses of our own making, empty where there is none."""

    compare: str = ""
    log: str = ""


def links(address: str, base: str, head: str, log_url: str) -> Links:
    """Return where a comment leads to."""
    compare = f"{address}/compare?{urlencode({'base': base, 'head': head})}" if address else ""
    return Links(compare, log_url)


def marker(repository: str, pull_request: int) -> str:
    """Return what a comment is found by again: nobody sees it, and no other one has it."""
    return f"<!-- faultwatch gate {repository.lower()}#{pull_request} -->"


def text(finding: Finding, links: Links, end: str = "", limit: int = LIMIT) -> str:
    """Return the comment.

    Parameters
    ----------
    finding
        What is told.
    links
        Where it leads to.
    end
        What stands last, such as a marker.
    limit
        How many bytes it may have.
    """
    first = f"**{verdict(finding, code)}**\n\n{_failures(finding.cases)}"
    around = f"{insight.text(finding.insights)}{_stored(finding.cases)}{_environment(finding.cases)}"
    last = f"{around}{_commands(finding)}{_links(finding, links)}"
    last = f"{last}{end}\n" if end else last
    room = limit - _size(first) - _size(last)
    return f"{first}{_table(finding.rows, room)}{last}"


def summary(finding: Finding, links: Links, limit: int) -> str:
    """Return the same without its first line, which stands in a title there."""
    return text(finding, links, limit=limit).partition("\n\n")[2] or "Nothing was measured.\n"


def _table(rows: Sequence[Row], room: int) -> str:
    open_ = [_line(row) for row in rows if not row.settled]
    rest = [_line(row) for row in rows if row.settled]
    shown = _fitting(open_, room)
    if not rest:
        return shown
    before, after = _FOLD
    before = before.format(f"{len(rest)} more: what is the same, or only shown")
    folded = _fitting(rest, room - _size(shown) - _size(before) - _size(after))
    return f"{shown}{before}{folded}{after}\n" if folded else shown


def _fitting(lines: Sequence[str], room: int) -> str:
    """Return a table of as many rows as fit, and how many do not."""
    left = room - _size(_HEAD) - _size(_left_out(len(lines))) - 2
    taken = 0
    for line in lines:
        left -= _size(line)
        if left < 0:
            break
        taken += 1
    if not taken:
        return _left_out(len(lines)) if _size(_left_out(len(lines))) <= room else ""
    return f"{_HEAD}{''.join(lines[:taken])}\n{_left_out(len(lines) - taken)}"


def _left_out(count: int) -> str:
    return f"… and {count:,} more row{'s' if count != 1 else ''}.\n\n" if count else ""


def _line(row: Row) -> str:
    one = row.one
    cells = (code(row.case), metric_name(one, code), _level(one, one.base), _level(one, one.head), change(one))
    return f"| {' | '.join((*cells, _noise(one), _verdict(row)))} |\n"


def _level(one: MetricVerdict, side: Side) -> str:
    return "–" if side.level is None else quantity(side.level, metric(one.metric).unit)


def _noise(one: MetricVerdict) -> str:
    """Say how far the samples of a side lie apart, or how many of an exact count agree."""
    sides = [side for side in (one.base, one.head) if side.level is not None]
    if one.rule == "exact":
        agree, of = sum(side.agree for side in sides), sum(side.n for side in sides)
        return "none" if agree == of else f"{of - agree} of {of} stray"
    if one.bounds is not None:
        return f"{percent(one.bounds[0])} to {percent(one.bounds[1])}"
    return "–"


def _verdict(row: Row) -> str:
    one = row.one
    if not one.counts:
        return "shown only"
    if one.verdict is Verdict.NEEDS_MORE_RUNS:
        return "not decided"
    if one.verdict is Verdict.SAME:
        return "same"
    return "better" if one.direction == "improvement" else _worse(row)


def _worse(row: Row) -> str:
    budget, whole = _budget(row.one), since(row)
    if row.one.over:
        return f"**worse**, budget {budget}"
    if row.crept is not None:
        return f"**worse**, {whole}, budget {budget}"
    return f"worse, within {budget}; {whole}" if whole else f"worse, within {budget}"


def _budget(one: MetricVerdict) -> str:
    return one.budget if isinstance(one.budget, str) else quantity(one.budget, metric(one.metric).unit)


def _failures(cases: Iterable[Judged]) -> str:
    told = [(one, one.failed) for one in cases if one.failed]
    parts = []
    for one, (side, failure) in told[:_FAILURES]:
        parts.append(f"{code(one.name)}, {side}, {failure.stage}: {code(failure.message, 300)}\n\n")
        if failure.log.strip():
            before, after = _FOLD
            parts.append(f"{before.format('End of the log')}{block(failure.log, _LOG)}\n{after}\n")
    if len(told) > _FAILURES:
        parts.append(f"… and {len(told) - _FAILURES} more that could not be measured.\n\n")
    return "".join(parts)


def _stored(cases: Sequence[Judged]) -> str:
    """Say of which cases base is what was measured of it before."""
    count = sum(one.case.base_stored for one in cases)
    if not count:
        return ""
    which = "" if count == len(cases) else f" of {count} of {len(cases)} cases"
    return f"The base{which} was measured before, in the same environment, and not again.\n\n"


def _environment(cases: Iterable[Judged]) -> str:
    """Tell the knobs in which base and head differ: it should be none."""
    found: dict[tuple[str, str, str], None] = {}
    for one in cases:
        left, right = one.case.base.environment.knobs, one.case.head.environment.knobs
        for name in one.comparison.knobs if one.comparison else ():
            found[name, left.get(name, ""), right.get(name, "")] = None
    if not found:
        return ""
    cells = [[code(cell, _LONGEST_KNOB) for cell in knob] for knob in list(found)[:_KNOBS]]
    rows = [f"| {' | '.join(row)} |\n" for row in cells]
    more = _left_out(len(found) - _KNOBS) if len(found) > _KNOBS else ""
    heading = "| knob | base | head |\n| :--- | :--- | :--- |\n"
    return f"The environment differed too:\n\n{heading}{''.join(rows)}\n{more}"


def _commands(finding: Finding) -> str:
    """Give the commands that measure again what changed first, or else the first case."""
    changed = {row.case for row in finding.changed()}
    wanted = [one for one in finding.cases if one.name in changed] or list(finding.cases[:1])
    commands = [one.command for one in wanted if len(one.command) <= _LONGEST_COMMAND and one.command.isprintable()]
    if not commands:
        return ""
    return f"To measure it again:\n\n{block(chr(10).join(commands[:_COMMANDS]), _COMMANDS * _LONGEST_COMMAND + 2)}\n\n"


def _links(finding: Finding, links: Links) -> str:
    named = (("Compare", links.compare), ("Log", links.log))
    parts = [f"[{name}]({address})" for name, address in named if address]
    parts.append(f"{finding.base[:10]} → {finding.head[:10]}")
    return f"{' · '.join(parts)}\n"


def _size(part: str) -> int:
    return len(part.encode())
