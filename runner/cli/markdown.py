"""Comparisons as Markdown, for the summary of a CI job. What a repository wrote is never read as markup. Pure."""

import html
from collections.abc import Iterator, Sequence

from runner.cli.tables import number
from runner.compare import Compared
from runner.contract.comparison import MetricVerdict, Verdict
from runner.contract.level import Number
from runner.contract.report import Report
from runner.gate import GateVerdict, of_case

MOST_CASES = 200
"""Cases that are told; GitHub takes a summary of at most one mebibyte."""
_LOG = 4_000
_SENTENCES = {
    GateVerdict.FAILED: "Head does not build or run.",
    GateVerdict.REGRESSED: "Something became worse by more than its budget.",
    GateVerdict.UNDECIDED: "Not everything could be decided.",
    GateVerdict.CHANGED: "Something changed, within its budget.",
    GateVerdict.IMPROVED: "Something improved, and nothing became worse.",
    GateVerdict.SAME: "Nothing changed.",
}


def summary(verdict: GateVerdict, results: Sequence[Compared]) -> str:
    """Return the verdict in words, then each case: what is worst stands first, what is the same is folded."""
    order = list(GateVerdict)
    told = sorted(results, key=lambda result: order.index(of_case(result)))
    lines = [f"## Faultwatch: {_SENTENCES[verdict]}", ""]
    for result in told[:MOST_CASES]:
        lines += _case(result)
    if len(told) > MOST_CASES:
        lines += [f"{len(told) - MOST_CASES} more cases are in the report.", ""]
    return "\n".join(lines) + "\n"


def _case(result: Compared) -> Iterator[str]:
    base, head = (text(report.revision.commit[:10]) for report in (result.base, result.head))
    yield f"### {text(result.base.case.name)}: {of_case(result)}"
    yield ""
    yield f"{base} → {head}, {len(result.base.samples)} pairs on {text(result.base.host.name)}"
    yield ""
    if result.comparison is None:
        yield from _failure("base", result.base)
        yield from _failure("head", result.head)
        return
    if result.comparison.knobs:
        yield f"The environments of base and head differ in {text(', '.join(result.comparison.knobs))}."
        yield ""
    counting = [one for one in result.comparison.metrics if one.counts]
    changed = [one for one in counting if one.verdict is not Verdict.SAME]
    yield from _table(changed)
    same = [one for one in counting if one.verdict is Verdict.SAME]
    if same:
        yield f"<details><summary>The same: {len(same)}</summary>"
        yield ""
        yield from _table(same)
        yield "</details>"
        yield ""


def _table(metrics: Sequence[MetricVerdict]) -> Iterator[str]:
    if not metrics:
        return
    yield "| metric | base | head | change | budget | verdict |"
    yield "|---|--:|--:|--:|--:|---|"
    for one in metrics:
        verdict = f"{one.direction or one.verdict}".replace("_", " ") + (", over its budget" if one.over else "")
        cells = (
            one.metric,
            _level(one, one.base.level),
            _level(one, one.head.level),
            _change(one),
            one.budget,
            verdict,
        )
        yield f"| {' | '.join(text(str(cell)) for cell in cells)} |"
    yield ""


def _level(one: MetricVerdict, level: Number | None) -> str:
    return "–" if level is None else number(one.metric, level)


def _change(one: MetricVerdict) -> str:
    if one.change is None:
        return "–"
    percent = "" if one.percent is None or not one.change else f" ({one.percent:+.3g} %)"
    return f"{number(one.metric, one.change, sign=True)}{percent}"


def _failure(side: str, report: Report) -> Iterator[str]:
    if report.failure is None:
        return
    yield f"{side}: {text(report.failure.message)}"
    yield ""
    if log := report.failure.log.strip():
        yield f"<details><summary>log of {side}</summary>"
        # Without empty lines it is one block of HTML, and nothing in it is read as Markdown.
        shown = "\n".join(line for line in log[-_LOG:].splitlines() if line.strip())
        yield f"<pre>{html.escape(shown)}</pre>"
        yield "</details>"
        yield ""


def text(said: str) -> str:
    """Return a text as it is: each character that Markdown or HTML could read as a sign is written as an entity."""
    line = " ".join(said.split())
    return "".join(char if char.isalnum() or char in " ,=+-–→%" else f"&#{ord(char)};" for char in line)
