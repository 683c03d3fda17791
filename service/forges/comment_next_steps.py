"""What a reader of a gate's comment can do next: accept the change, measure it again, profile it, bisect it."""

from __future__ import annotations

from collections.abc import Iterable

from service.forges.comment_links import Links, has_counts
from service.rules.gate.verdict import GateOutcome
from service.text.markdown import format_block, format_code

_MAX_COMMANDS = 3
_MAX_COMMAND_CHARACTERS = 1_000


def offer_acceptance(outcome: GateOutcome, links: Links) -> str:
    """Return how the change is accepted; empty if nobody has to, somebody has, or nobody reads comments."""
    if not outcome.needs_acceptance or outcome.accepted is not None:
        return ""
    if links.merge:
        return (
            "If this is intended, merge it although the check fails: later heads are compared with what is merged.\n\n"
        )
    if not links.accept:
        return ""
    return f"To accept it, comment {format_code('/faultwatch accept REASON')} (needs write access).\n\n"


def suggest_commands(outcome: GateOutcome) -> str:
    """Return the commands that measure the first changed cases again, or else the first case, and profile the worse."""
    if outcome.report.merge:
        return ""  # Nobody else has that commit: the gate of the branches makes it again.
    changed_cases = {row.case for row in outcome.list_changed_metrics()}
    worse_cases = {row.case for row in outcome.list_changed_metrics() if row.metric_verdict.direction == "regression"}
    cases = [case for case in outcome.cases if case.name in changed_cases] or list(outcome.cases[:1])
    measure_block = _build_code_block("To measure the case again, in a clone", [case.command for case in cases])
    profile_block = _build_code_block(
        "To see where the faults come from", [case.profile_command for case in cases if case.name in worse_cases]
    )
    if not measure_block and not profile_block:
        return ""
    title = (
        "Commands that measure again, and that show where the faults come from" if profile_block else "Measure again"
    )
    return f"<details><summary>{title}</summary>\n\n{measure_block}{profile_block}</details>\n\n"


def offer_bisect(outcome: GateOutcome, links: Links) -> str:
    """Return the offer to find the commit of the first regression that fails the gate."""
    cases_over_budget = [
        row.case for row in outcome.list_changed_metrics() if row.metric_verdict.over_budget or row.crept is not None
    ]
    if not links.bisect or not cases_over_budget:
        return ""
    command = format_code(f"/faultwatch bisect {cases_over_budget[0]}", _MAX_COMMAND_CHARACTERS)
    return f"To find the commit, comment {command}.\n\n"


def explain_faults(outcome: GateOutcome, links: Links) -> str:
    """Return what a page fault is, folded, for those who read such a comment for the first time.

    Empty where the last line links it: only a comment that no service wrote has no address to link.
    """
    if links.definitions or not has_counts(outcome):
        return ""
    return (
        "<details><summary>What a page fault is</summary>\n\n"
        "The program uses an address that has no page of memory, or none that it may write to, so the kernel has to "
        "map one: the program touches the page for the first time, writes to a page that it shares, or had returned "
        "the page to the kernel. A minor fault costs about half a microsecond of system time. A major fault waits for "
        "storage. Base and head are executed interleaved on one host, so even one additional fault is detected if it "
        "repeats.\n\n</details>\n\n"
    )


def _build_code_block(title: str, commands: Iterable[str]) -> str:
    """Return commands as a block of code below a title; empty if none fits."""
    short_commands = [
        command for command in commands if len(command) <= _MAX_COMMAND_CHARACTERS and command.isprintable()
    ]
    if not short_commands:
        return ""
    text = "\n".join(short_commands[:_MAX_COMMANDS])
    return f"{title}:\n\n{format_block(text, len(text.encode()))}\n\n"
