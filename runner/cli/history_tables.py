"""The result of a history on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console

from runner.campaigns.history_measurement import HistorySummary
from runner.campaigns.proving import ProofSummary
from runner.cli.activity import format_time_spent
from runner.cli.console import make_console
from runner.cli.drift_map_lines import draw_drift_map
from runner.cli.drift_next_steps import describe_cause, describe_standing, is_suspected
from runner.cli.formatting import escape_text, format_percent, format_value
from runner.cli.next_command import TypedTarget
from runner.contract.nomination import Nomination
from runner.contract.number_text import format_count

_DIRECTION_LABELS = {"regression": "▲ regression", "improvement": "▼ improvement"}

_MAX_SUSPECTED_DRIFTS = 10
_MAX_POWERS = 3
"""How many statements about the power of comparisons are shown, so that a parameter matrix does not fill the screen."""


def show_history(
    summary: HistorySummary,
    drifts: Sequence[dict[str, Any]],
    target: TypedTarget,
    charts: Sequence[str] = (),
    *,
    commits: Sequence[str] = (),
    served: bool = True,
) -> None:
    """Print the result of a history, the drifts that the service has found, the addresses of its charts, and a map.

    Parameters
    ----------
    commits
        The commits of the map, oldest first.
    served
        Whether a service answers at these addresses.
    """
    # Print how many runs there are.
    console = make_console()
    reused_clause = f"{summary.n_reused} reused from runs of byte-identical programs, " if summary.n_reused else ""
    stored_failures_clause = f" (of which {summary.n_stored_failures} failed)" if summary.n_stored_failures else ""
    console.print(
        f"{format_count(summary.n_revisions, 'revision')}: {summary.n_measured} measured, {reused_clause}"
        f"{summary.n_stored} stored before{stored_failures_clause}, {len(summary.failed_reports)} failed.",
        soft_wrap=True,
    )
    if summary.n_left_out:
        console.print(describe_skipped_commits(summary.n_left_out), soft_wrap=True)
    # Print the runs that contradict reused counts.
    for report in summary.contradicted_reports:
        check = report.same_bytes_check
        sentence = f"{report.revision.commit[:10]} {report.case.name}: {check.sentence if check else ''}"
        console.print(
            "[yellow]The program found the same files as in an earlier run, but its count differs: "
            f"{escape_text(sentence)}.[/]\nThe measured count is judged; from this revision on, no counts of this "
            "case were reused.",
            highlight=False,
            soft_wrap=True,
        )
    # Print how many reports the service has refused or not received.
    if summary.refusals:
        first_text = ", the first for this reason" if len(summary.refusals) > 1 else ""
        console.print(
            f"[yellow]The service refused {format_count(len(summary.refusals), 'report')}{first_text}: "
            f"{escape_text(summary.refusals[0])}[/]\nRefused reports are set aside; see `faultwatch spool`.",
            soft_wrap=True,
        )
    error_text = f": {escape_text(summary.error.what)}" if summary.error else ""
    if summary.waiting_before:
        count = format_count(summary.waiting_before, "report")
        verb = "is" if summary.waiting_before == 1 else "are"
        console.print(
            f"{count} from earlier commands {verb} still waiting on disk{error_text}; see `faultwatch spool`.",
            soft_wrap=True,
        )
    if summary.n_waiting:
        count, verb = format_count(summary.n_waiting, "report"), "is" if summary.n_waiting == 1 else "are"
        console.print(
            f"[yellow]{count} {verb} waiting on disk{error_text}.[/]\nThe next command that reaches the service will "
            "send what is waiting. To send it now, run `faultwatch spool --flush`."
        )
        return
    # Print the drifts and the addresses of the charts.
    if not summary.n_measured and not summary.n_reused and summary.n_stored == summary.n_stored_failures:
        console.print("[yellow]Nothing was measured, so nothing is judged.[/]")
        if summary.n_stored_failures:
            console.print("  → --again repeats the runs that failed", highlight=False)
    else:
        show_drifts(console, drifts, target, summary.proofs.open_nominations if summary.proofs else ())
    if summary.proofs:
        _show_proofs(console, summary.proofs)
    for url in charts:
        console.print(f"Chart: {escape_text(url)}", highlight=False, soft_wrap=True)
    if charts and not served:
        chart_text = "the chart" if len(charts) == 1 else "the charts"
        console.print(f"  → to see {chart_text}, start a service: `faultwatch-service serve`", highlight=False)
    above_floor = [drift for drift in drifts if not drift.get("below_floor")]
    for line in draw_drift_map(above_floor, commits, console.width):
        console.print(escape_text(line), highlight=False, soft_wrap=True)


def describe_skipped_commits(n_commits: int) -> str:
    """Return a remark that commits of merged branches are left out, and how to include them."""
    verb = "is" if n_commits == 1 else "are"
    return (
        f"{format_count(n_commits, 'commit')} from merged branches {verb} left out, because a history follows only "
        "first parents. Use --all-parents to measure them as well."
    )


def show_drifts(
    console: Console, drifts: Sequence[dict[str, Any]], target: TypedTarget, nominations: Sequence[Nomination] = ()
) -> None:
    """Print drifts, newest first. Drifts below the floor are only counted, as on the dashboard.

    Parameters
    ----------
    nominations
        Likely changes that were neither proven nor refuted. If they are not drifts yet, they are printed as suspected.
    """
    above_floor = order_drifts([drift for drift in drifts if not drift.get("below_floor")])
    drift_keys = {(drift["case"], drift["metric"], drift["revision"]) for drift in drifts}
    suspected_drifts = [
        nomination
        for nomination in nominations
        if (nomination.case.name, nomination.metric, nomination.head) not in drift_keys
    ]
    if not above_floor:
        certainty = " is certain" if suspected_drifts else ""
        console.print(f"No drift{certainty}." if not drifts else f"No drift above the floor{certainty}.")
    for nomination in suspected_drifts[:_MAX_SUSPECTED_DRIFTS]:
        _show_suspected_drift(console, nomination, target)
    if len(suspected_drifts) > _MAX_SUSPECTED_DRIFTS:
        n_more = len(suspected_drifts) - _MAX_SUSPECTED_DRIFTS
        console.print(
            f"{format_count(n_more, 'more drift')} {'is' if n_more == 1 else 'are'} suspected.", highlight=False
        )
    for drift in above_floor:
        _show_drift(console, drift, target)
    n_below_floor = len(drifts) - len(above_floor)
    if n_below_floor:
        count = format_count(n_below_floor, "drift")
        reason = "runs of the same program, or builds of the same commit, can differ as much"
        console.print(f"{count} below the floor: {reason}.", style="dim")


def _show_drift(console: Console, drift: dict[str, Any], target: TypedTarget) -> None:
    """Print a drift with its cause and its settings."""
    name, before, after = drift["metric"], drift["before"], drift["after"]
    standing_text = "  within its budget" if drift.get("within_budget") else ""
    standing_text += f"  {describe_standing(drift)}"
    # A zero baseline has no percentage.
    percent = f", {format_percent(100 * (after - before) / abs(before))}" if before else ""
    console.print(
        f"[bold]{_DIRECTION_LABELS[drift['direction']]} {escape_text(name)}[/] "
        f"{format_value(name, before)} → {format_value(name, after)} "
        f"({format_value(name, after - before, sign=True)}{percent})  {escape_text(drift['case'])}{standing_text}",
        highlight=False,
        soft_wrap=not console.is_terminal,
    )
    for line in describe_cause(drift, target):
        console.print(escape_text(line), highlight=False, soft_wrap=True)
    for setting in drift["settings"]:
        change = f"{setting['before'] or 'not set'} → {setting['after'] or 'not set'}"
        console.print(f"    {escape_text(setting['name'])}: {escape_text(change)}", highlight=False, soft_wrap=True)


def _show_suspected_drift(console: Console, nomination: Nomination, target: TypedTarget) -> None:
    """Print a likely change that is not proven yet, and the command that proves or refutes it."""
    name, before, after = nomination.metric, nomination.before, nomination.after
    percent = "" if nomination.percent is None else f", {format_percent(nomination.percent)}"
    compare_command = target.suggest("compare", f"{nomination.base[:10]}..{nomination.head[:10]}", nomination.case.name)
    console.print(
        f"[yellow]? suspected {escape_text(name)}[/] {format_value(name, before)} → {format_value(name, after)} "
        f"({format_value(name, after - before, sign=True)}{percent})  {escape_text(nomination.case.name)}  "
        f"at {nomination.head[:10]}\n    `{escape_text(compare_command)}` proves or refutes it",
        highlight=False,
        soft_wrap=True,
    )


def order_drifts(drifts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Move suspected drifts that are larger than every certain drift to the front; keep the order otherwise."""
    certain_sizes = [_compute_relative_size(drift) for drift in drifts if not is_suspected(drift)]
    largest_certain_size = max(certain_sizes, default=0.0)

    def comes_first(drift: dict[str, Any]) -> bool:
        return is_suspected(drift) and _compute_relative_size(drift) > largest_certain_size

    return [drift for drift in drifts if comes_first(drift)] + [drift for drift in drifts if not comes_first(drift)]


def _compute_relative_size(drift: dict[str, Any]) -> float:
    """Return the size of a drift as a share of the level before it; infinity if that level is zero."""
    before, after = drift["before"], drift["after"]
    return abs(after - before) / abs(before) if before else float("inf")


def _show_proofs(console: Console, proofs: ProofSummary) -> None:
    """Print which likely changes were proven or refuted, and which remain open."""
    n_compared = proofs.n_proven + proofs.n_refuted + proofs.n_undecided
    if n_compared:
        console.print(
            f"{format_count(n_compared, 'comparison')} of two commits in {format_time_spent(proofs.seconds)}: "
            f"{proofs.n_proven} with a difference, {proofs.n_refuted} without one, {proofs.n_undecided} undecided.",
            highlight=False,
            soft_wrap=True,
        )
    for power in proofs.powers[:_MAX_POWERS]:
        console.print(
            f"[dim]{escape_text(power.metric)} of {escape_text(power.case.name)} varies. "
            f"{escape_text(power.sentence)}[/]",
            highlight=False,
            soft_wrap=True,
        )
    if proofs.open_nominations:
        console.print(
            f"[yellow]{format_count(len(proofs.open_nominations), 'likely change')} "
            f"{'was' if len(proofs.open_nominations) == 1 else 'were'} neither proven nor refuted: "
            "use --prove-for to give the proofs more time.[/]",
            highlight=False,
            soft_wrap=True,
        )
