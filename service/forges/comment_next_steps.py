"""The next steps that the comment of a gate offers: to accept, measure again, profile or bisect the change."""

from __future__ import annotations

from collections.abc import Iterable

from service.forges.comment_links import Links, has_counts
from service.rules.gate.verdict import GateOutcome
from service.rules.jobs.bisect_allowance import offers_bisects
from service.schemas.triage import BisectPolicy
from service.text.markdown import format_block, format_code

_MAX_COMMANDS = 3
_MAX_COMMAND_CHARACTERS = 1_000


def offer_acceptance(outcome: GateOutcome, links: Links) -> str:
    """Return how to accept the change; empty if this is unnecessary or done, or no service reads comments."""
    if not outcome.needs_acceptance or outcome.accepted is not None:
        return ""
    if links.needs_merge:
        return (
            "If this change is intended, merge the pull request despite the failed check: later heads are compared "
            "with the merged result.\n\n"
        )
    if not links.reads_comments:
        return ""
    return f"To accept the change, comment {format_code('/faultwatch accept REASON')} (needs write access).\n\n"


def suggest_commands(outcome: GateOutcome) -> str:
    """Return commands that measure the first changed cases (or the first case) again, and profile worse cases."""
    if outcome.report.merge:
        return ""  # The merge commit exists only in the CI job, so nobody else could measure it.
    changed_cases = {row.case for row in outcome.list_changed_metrics()}
    worse_cases = {row.case for row in outcome.list_changed_metrics() if row.metric_verdict.direction == "regression"}
    cases = [case for case in outcome.cases if case.name in changed_cases] or list(outcome.cases[:1])
    measure_block = _build_code_block("To measure again, in a clone", [case.command for case in cases])
    profile_block = _build_code_block(
        "To see where the faults come from", [case.profile_command for case in cases if case.name in worse_cases]
    )
    if not measure_block and not profile_block:
        return ""
    title = "Commands to measure again and to see where the faults come from" if profile_block else "Measure again"
    return f"<details><summary>{title}</summary>\n\n{measure_block}{profile_block}</details>\n\n"


def may_offer_bisect(policies: Iterable[BisectPolicy], n_commits: int) -> bool:
    """Return whether the comment of a failing gate may offer a bisect.

    Parameters
    ----------
    policies
        Policies of the subjects that the gate measured.
    n_commits
        The number of commits of the pull request; a single one needs no bisect.
    """
    return n_commits > 1 and all(map(offers_bisects, policies))


def offer_bisect(outcome: GateOutcome, links: Links) -> str:
    """Return the offer to bisect the first regression that fails the gate.

    It is empty if there is none to offer, or if a command on one line cannot name its case.
    """
    cases_over_budget = [
        row.case
        for row in outcome.list_changed_metrics()
        if row.metric_verdict.over_budget or row.gradual_change is not None
    ]
    if not links.offers_bisect or not cases_over_budget:
        return ""
    command = f"/faultwatch bisect {cases_over_budget[0]}"
    if len(command) > _MAX_COMMAND_CHARACTERS or not command.isprintable():
        return ""  # it could only be shown changed, and would then name no case
    shown_command = format_code(command, _MAX_COMMAND_CHARACTERS)
    return f"To find the commit that caused the change, comment {shown_command}.\n\n"


def explain_faults(outcome: GateOutcome, links: Links) -> str:
    """Return a folded explanation of page faults, for first-time readers.

    It is empty if the comment shows no counts of faults, or if its last line links to the explanation, as it does in
    the comments of a service with an address.
    """
    if links.definitions or not has_counts(outcome):
        return ""
    return (
        "<details><summary>What is a page fault?</summary>\n\n"
        "The program uses an address without a page of memory, or writes to a page that it may only read, so the "
        "kernel has to map a page. This happens when the program touches a page for the first time, writes to a shared "
        "page, or touches a page that it had returned to the kernel. A minor fault costs about half a microsecond of "
        "system time. A major fault waits for storage. Base and head are executed interleaved on one host, so even one "
        "additional fault is detected if it repeats.\n\n</details>\n\n"
    )


def _build_code_block(title: str, commands: Iterable[str]) -> str:
    """Return commands as a code block below a title; empty if all are too long or not printable."""
    short_commands = [
        command for command in commands if len(command) <= _MAX_COMMAND_CHARACTERS and command.isprintable()
    ]
    if not short_commands:
        return ""
    text = "\n".join(short_commands[:_MAX_COMMANDS])
    return f"{title}:\n\n{format_block(text, len(text.encode()))}\n\n"
