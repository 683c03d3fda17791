"""Shows a profile and its diagnosis as tables on a terminal."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from rich.console import Console
from rich.table import Table

from runner.cli.console import make_console
from runner.cli.formatting import escape_text
from runner.contract import number_text
from runner.contract.diagnosis import Diagnosis, Finding
from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_count
from runner.contract.own_frame import find_own_line
from runner.contract.profile import (
    PROFILE_SCOPES,
    Access,
    AllocatingLine,
    Anatomy,
    Frame,
    Memory,
    Profile,
    PythonLine,
    StackKind,
    StackProfile,
    Touch,
)

Label = TypeVar("Label", Memory, Touch, Access)
Suggest = Callable[[Sequence[str]], str]
_MAX_STACKS = 5
_MAX_SITES = 8
_MAX_FRAMES = 5
"""How many of the innermost frames of each stack are shown."""


def show_profile(profile: Profile) -> None:
    """Print a profile: its scope and cost, the faults by kind and place, the heaviest stacks, the system calls."""
    console = make_console()
    console.print(f"[bold]{escape_text(profile.case.name)}[/]  {profile.revision.commit[:10]}", highlight=False)
    scope = PROFILE_SCOPES[profile.scope]
    processes = f", one of {profile.processes} processes that ran at the same time" if profile.processes > 1 else ""
    cost = profile.overhead_percent
    overhead = f"; recording cost {cost:+.0f} % CPU time" if cost and cost >= 1 else ""
    console.print(f"Profile of {scope}{processes}{overhead}. Profiles do not affect results.", style="dim")
    show_anatomy_and_stacks(profile)


def show_anatomy_and_stacks(profile: Profile) -> None:
    """Print the remarks and the tables of a profile."""
    console = make_console()
    for remark in profile.remarks:
        console.print(escape_text(remark), style="yellow", highlight=False)
    if profile.anatomy:
        _show_anatomy(console, profile.anatomy)
    if profile.python_lines:
        faults = [(f"{line.faults:,}", line) for line in profile.python_lines]
        _show_runtime_lines(console, "Python", "faults", faults)
    if profile.java_lines:
        allocations = [(number_text.format_quantity(line.bytes, "bytes"), line) for line in profile.java_lines]
        _show_runtime_lines(console, "Java", "allocated", allocations)
    for stacks in profile.stack_profiles:
        _show_stacks(console, profile, stacks)
    if profile.census:
        calls = ", ".join(f"{name} {call.calls:,}" for name, call in profile.census.calls.items())
        console.print(f"System calls ({profile.census.source}): {calls or 'none'}", highlight=False)


def show_diagnosis(diagnosis: Diagnosis, suggest: Suggest) -> None:
    """Print the diagnosis, or the evidence if no rule matches.

    Parameters
    ----------
    suggest
        Returns the command that tries a remedy with the given options.
    """
    console = make_console()
    for number, finding in enumerate(diagnosis.findings):
        _show_finding(console, finding, suggest, is_first=number == 0)
    if not diagnosis.findings:
        if not diagnosis.difference:
            console.print("[bold]No known pattern matched.[/] The evidence:")
        for line in diagnosis.evidence:
            console.print(f"  • {escape_text(line)}", highlight=False)
    console.print()


def _show_anatomy(console: Console, anatomy: Anatomy) -> None:
    """Print the kinds of the faults, and a table of the places with the most faults."""
    ratio = f", {number_text.format_number(anatomy.refault_ratio)} each" if anatomy.refault_ratio else ""
    pages = "" if anatomy.is_scaled else f" on {format_count(anatomy.pages, 'page')}{ratio}"
    console.print(f"{format_count(anatomy.counted, 'fault')}{pages}; {anatomy.major:,} major.", highlight=False)
    if anatomy.lost or anatomy.unrecorded:
        verb = "was" if anatomy.unrecorded == 1 else "were"
        lost_records = f"; perf lost {format_count(anatomy.lost, 'record')}" if anatomy.lost else ""
        console.print(f"  {anatomy.unrecorded:,} of them {verb} not recorded{lost_records}", style="yellow")
    console.print(f"  memory: {_list_kinds(anatomy.by_memory)}", highlight=False)
    console.print(f"  touched: {_list_kinds(anatomy.by_touch)}", highlight=False)
    console.print(f"  access: {_list_kinds(anatomy.by_access)}", highlight=False)
    table = Table(box=None, padding=(0, 2, 0, 2))
    for name in ("faults", "memory", "touched", "where"):
        table.add_column(name, justify="right" if name == "faults" else "left", overflow="fold")
    for site in anatomy.sites[:_MAX_SITES]:
        table.add_row(f"{site.faults:,}", site.memory.value, site.touch.value, _format_frame(site.frame))
    if anatomy.sites:
        console.print(table)


def _show_runtime_lines(
    console: Console, language: str, quantity: str, lines: Sequence[tuple[str, PythonLine | AllocatingLine]]
) -> None:
    """Print the source lines for which a runtime faults or allocates most.

    Parameters
    ----------
    quantity
        What is given for each line, as the heading of the column.
    lines
        The amounts as text, and the lines.
    """
    table = Table(box=None, padding=(0, 2, 0, 2))
    table.add_column(quantity, justify="right")
    table.add_column(f"{language} line (including what it calls)", overflow="fold")
    for amount, line in lines[:_MAX_SITES]:
        table.add_row(amount, escape_text(f"{line.function}  {line.file}:{line.line}"))
    console.print(table)


def _list_kinds(faults_by_kind: Mapping[Label, int]) -> str:
    return ", ".join(f"{kind} {number:,}" for kind, number in faults_by_kind.items()) or "none"


def _show_stacks(console: Console, profile: Profile, stacks: StackProfile) -> None:
    """Print the heaviest call chains of a stack profile, with their shares."""
    if stacks.kind in {StackKind.FAULTS, StackKind.RETURNED, StackKind.REQUESTED}:
        total_text = format_count(stacks.total, "fault")
    else:
        total_text = number_text.format_quantity(stacks.total, "ns")
    lost_text = f", {stacks.lost:,} lost" if stacks.lost else ""
    console.print(
        f"[bold]{stacks.kind.value}[/]: {total_text}, from {format_count(stacks.samples, 'stack')} "
        f"({stacks.call_graph}){lost_text}",
        highlight=False,
    )
    chains: Counter[str] = Counter()
    for stack in stacks.stacks:
        chains[format_call_chain([profile.frames[index] for index in stack.frames])] += stack.weight
    for chain, weight in chains.most_common(_MAX_STACKS):
        console.print(f"  {100 * weight / max(1, stacks.total):5.1f} %  {escape_text(chain)}", highlight=False)


def _show_finding(console: Console, finding: Finding, suggest: Suggest, *, is_first: bool) -> None:
    """Print one finding of the diagnosis: the evidence, the remedies, and the commands that try them."""
    console.print(
        f"[bold]{'Diagnosis' if is_first else 'Also'}: {escape_text(finding.title)}[/] ({finding.rule}, up to "
        f"{number_text.format_number(100 * finding.price)} % of the time can be saved)",
        highlight=False,
    )
    for line in finding.evidence:
        console.print(f"  • {escape_text(line)}", highlight=False)
    for remedy in finding.remedies:
        console.print(f"  → {escape_text(remedy.text)}", highlight=False)
        if remedy.settings:
            settings = [word for name, value in remedy.settings.items() for word in ("--with", f"{name}={value}")]
            console.print(f"    [dim]{escape_text(suggest(settings))}[/]", highlight=False, soft_wrap=True)
    console.print(f"  [dim]as in {escape_text(finding.report)}[/]", highlight=False)


def _format_frame(frame: Frame) -> str:
    line = f"  {frame.file.rpartition('/')[2]}:{frame.line}" if frame.file else ""
    return escape_text(f"{shorten_name(frame.function)}{line}")


def format_call_chain(frames: Sequence[Frame]) -> str:
    """Return the innermost functions of a stack, each to the left of its caller, and the subject's own line."""
    innermost_frames = reversed(frames[-_MAX_FRAMES:])
    chain = " ← ".join(shorten_name(frame.function) for frame in innermost_frames)
    own_line = find_own_line(frames)
    return f"{chain}, in {own_line}" if own_line else chain
