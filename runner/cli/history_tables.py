"""The result of a history on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from runner.campaigns.history_measurement import HistorySummary
from runner.cli.formatting import count_of, escape_text, format_percent, format_value
from runner.cli.suggestion import TypedTarget

_DEFAULT = "minor-faults"
"""What a bisect searches if no metric is named."""
_SIGNS = {"regression": "▲ regression", "improvement": "▼ improvement"}


def show_history(
    summary: HistorySummary,
    drifts: Sequence[dict[str, Any]],
    target: TypedTarget,
    charts: Sequence[str] = (),
    *,
    served: bool = True,
) -> None:
    """Print the result of a history, the drifts that the service has found, and the addresses of its charts.

    Parameters
    ----------
    served
        Whether a service answers at these addresses.
    """
    console = Console()
    same = f"{summary.reused} reused from a run with the same bytes, " if summary.reused else ""
    console.print(
        f"{count_of(summary.revisions, 'revision')}: {summary.measured} measured, {same}{summary.stored} stored "
        f"before, {len(summary.failed)} failed.",
        soft_wrap=True,
    )
    if summary.left_out:
        console.print(describe_left_out(summary.left_out), soft_wrap=True)
    for report in summary.contradicted:
        check = report.same_bytes_check
        sentence = f"{report.revision.commit[:10]} {report.case.name}: {check.sentence if check else ''}"
        console.print(
            f"[yellow]The program found the same files, and yet its count differs: {escape_text(sentence)}.[/]\nThe "
            f"measured count is judged. From there on, every revision was measured.",
            highlight=False,
            soft_wrap=True,
        )
    if summary.refused:
        console.print(
            f"[yellow]The service refused {count_of(len(summary.refused), 'report')}: "
            f"{escape_text(summary.refused[0])}[/]\nThey are set aside; see `faultwatch spool`.",
            soft_wrap=True,
        )
    why = f": {escape_text(summary.error.what)}" if summary.error else ""
    if summary.waiting_before:
        count = count_of(summary.waiting_before, "report")
        console.print(f"{count} of earlier commands still on disk{why}; see `faultwatch spool`.", soft_wrap=True)
    if summary.waiting:
        console.print(
            f"[yellow]{summary.waiting} reports wait on disk{why}.[/]\nThe next command that reaches the service sends "
            "them, or `faultwatch spool --flush`."
        )
        return
    show_drifts(console, drifts, target)
    for address in charts:
        console.print(f"Chart: {escape_text(address)}", highlight=False, soft_wrap=True)
    if charts and not served:
        console.print("  → run `faultwatch-service serve` to see it: no service answers there yet", highlight=False)


def describe_left_out(commits: int) -> str:
    """Return that the commits of merged branches are not measured, and how they are."""
    are = "is" if commits == 1 else "are"
    return (
        f"{count_of(commits, 'commit')} of merged branches {are} left out, because a history follows the "
        "first parents. --all-parents measures them, too."
    )


def show_drifts(console: Console, drifts: Sequence[dict[str, Any]], target: TypedTarget) -> None:
    """Print drifts, newest first. Those that the service folds are counted in one line, as the dashboard does."""
    above = [drift for drift in drifts if not drift.get("below_floor")]
    if not above:
        console.print("No drift." if not drifts else "No drift above the floor.")
    for drift in above:
        name, before, after = drift["metric"], drift["before"], drift["after"]
        # A zero baseline has no percentage.
        within = "  within its budget" if drift.get("within_budget") else ""
        if drift.get("evidence", {}).get("wants_rerun"):
            within += "  not confirmed yet"
        percent = f", {format_percent(100 * (after - before) / abs(before))}" if before else ""
        console.print(
            f"[bold]{_SIGNS[drift['direction']]} {escape_text(name)}[/] "
            f"{format_value(name, before)} → {format_value(name, after)} "
            f"({format_value(name, after - before, sign=True)}{percent})  {escape_text(drift['case'])}{within}",
            highlight=False,
            soft_wrap=True,
        )
        for line in _describe_cause(drift, target):
            console.print(escape_text(line), highlight=False, soft_wrap=True)
        for setting in drift["settings"]:
            change = f"{setting['before'] or 'not set'} → {setting['after'] or 'not set'}"
            console.print(f"    {escape_text(setting['name'])}: {escape_text(change)}", highlight=False, soft_wrap=True)
    if folded := len(drifts) - len(above):
        console.print(f"{folded} below the floor: runs with the same bytes can differ by as much.", style="dim")


def _describe_cause(drift: dict[str, Any], target: TypedTarget) -> list[str]:
    """Return the cause of a drift in words: a single commit only if no other one can have caused it.

    While the drift waits for further runs, that stands before whatever is said of its cause.
    """
    cause, commits = drift["cause"], [candidate["commit"][:10] for candidate in drift.get("candidates", ())]
    before, after = drift["previous_revision"][:10], drift["revision"][:10]
    # Where the position of the change is uncertain, the candidates lie between other runs than these two.
    good, bad = (drift.get("last_good") or before)[:10], (drift.get("first_bad") or after)[:10]
    known = drift.get("candidates_known", True)
    provisional = bool(drift.get("evidence", {}).get("wants_rerun"))
    if provisional:
        cause = f"provisional: {cause}"
    if drift["cause"] not in {"commit", "both"}:
        decides = ["    the runs of the next commits decide"] if provisional else []
        return [f"  {cause}  {f'between {before} and {after}' if before != after else f'at {after}'}", *decides]
    if len(commits) < 2 and known:
        only = "the only candidate is " if provisional and commits else ""
        decides = [f"    `{target.suggest('compare', f'{good}..{bad}', drift['case'])}` decides"] if provisional else []
        return [f"  {cause}  {only}{commits[0] if commits else after} {drift['title']}".rstrip(), *decides]
    who = f"one of {len(commits)} commits, {commits[0]}…{commits[-1]}" if known else f"one of the commits up to {bad}"
    options = () if drift["metric"] == _DEFAULT else ("--metric", drift["metric"])
    command = target.suggest("bisect", f"{good}..{bad}", drift["case"], options)
    return [f"  {cause}  {who}", f"    `{command}` {'decides, and ' if provisional else ''}says which"]
