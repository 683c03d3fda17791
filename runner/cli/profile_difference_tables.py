"""Prints the difference of two profiles on a terminal: the functions and lines with more or fewer faults."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from runner.cli.console import make_console
from runner.cli.formatting import escape_text
from runner.cli.profile_tables import format_call_chain
from runner.contract.diagnosis import Difference, DifferencePart
from runner.contract.explanation_text import describe_change
from runner.contract.function_names import shorten_name
from runner.contract.number_text import choose_unit, format_count, format_quantity, format_signed_number
from runner.contract.own_frame import shorten_source_path
from runner.contract.profile import Profile
from runner.contract.profile_difference import FunctionLine, StackChange, WeightChange, compare_lines, compare_stacks

_MAX_CAUSES = 5
_MAX_LINES = 10
_MAX_STACKS = 5


def show_causes(difference: Difference, cpu_seconds: tuple[float | None, float | None] = (None, None)) -> None:
    """Print why the number of faults differs: what the change did, then the causes, each with its line and its price.

    Parameters
    ----------
    cpu_seconds
        The CPU time of an execution before and after the change, which was not recorded; None if it is unknown. Fewer
        faults can cost more: a mapping that is populated at once has none.
    """
    console = make_console()
    console.print(_format_total(difference, cpu_seconds), highlight=False)
    about_change = describe_change(difference, str)
    for sentence in about_change:
        console.print(escape_text(f"  {sentence}"), highlight=False)
    if about_change and difference.parts:
        console.print("By cause:")
    shown_parts = _choose_parts(difference.parts)
    for part in shown_parts:
        console.print(escape_text(_format_part(part)), highlight=False)
    other_parts = [part for part in difference.parts if part not in shown_parts]
    if other_parts:
        other_faults = sum(part.faults for part in other_parts)
        n_others = format_count(len(other_parts), "other cause")
        console.print(f"  {format_signed_number(other_faults)}  in {n_others}", highlight=False)
    for remark in difference.remarks:
        console.print(escape_text(f"  {remark}"), highlight=False)


def _format_total(difference: Difference, cpu_seconds: tuple[float | None, float | None]) -> str:
    """Format the whole difference in faults, with the CPU time before and after if both are known."""
    growth = difference.faults
    seconds_before, seconds_after = cpu_seconds
    times = ""
    if seconds_before is not None and seconds_after is not None:
        times = f"; CPU time {format_quantity(seconds_before, 's')} → {format_quantity(seconds_after, 's')}"
    end = ":" if difference.parts else "."
    total = f"[bold]{format_signed_number(growth)} {choose_unit(growth, 'faults')}[/]"
    return f"{total} ({difference.before:,} → {difference.after:,}{times}){end}"


def _format_part(part: DifferencePart) -> str:
    """Format one cause of the difference, with its source line and its price."""
    subject = f"{part.place}, called by {part.caller}," if part.caller else part.place or "the program"
    share = _describe_share(part)
    price = f", {format_quantity(part.seconds, 's')} of CPU time" if part.seconds else ""
    return f"  {format_signed_number(part.faults)}  {subject} {part.sentence} ({part.cause}{share}{price})"


def _choose_parts(parts: Sequence[DifferencePart]) -> list[DifferencePart]:
    """Return the leading part and the largest others, in their order."""
    largest_parts = sorted(parts[1:], key=lambda part: -abs(part.faults))[: _MAX_CAUSES - 1]
    return [part for part in parts if part is parts[0] or part in largest_parts]


def _describe_share(part: DifferencePart) -> str:
    """Return how many of the faults of a part are at its place; empty if all are, or if that is unknown."""
    n_elsewhere = part.faults - part.place_faults
    if not part.place_faults or not n_elsewhere:
        return ""
    second = f", {format_signed_number(part.second_faults)} in {part.second_place}" if part.second_place else ""
    if n_elsewhere * part.faults < 0:
        n_elsewhere -= part.second_faults
        elsewhere = f"{format_signed_number(n_elsewhere)} elsewhere"
        return f", {format_signed_number(part.place_faults)} there{second} and {elsewhere}"
    return f", {format_signed_number(part.place_faults)} of them there{second}"


def show_difference(before: Profile, after: Profile) -> None:
    """Print the functions and lines of the program that changed, and the stacks that changed most."""
    console = make_console()
    faults_before = before.anatomy.counted if before.anatomy else 0
    faults_after = after.anatomy.counted if after.anatomy else 0
    console.print()
    console.print(
        f"[bold]{before.revision.commit[:10]} → {after.revision.commit[:10]}[/]: "
        f"{faults_before:,} → {faults_after:,} {choose_unit(faults_after, 'faults')} "
        f"({format_signed_number(faults_after - faults_before)})",
        highlight=False,
    )
    _print_changed_lines(console, compare_lines(before, after))
    _print_changed_stacks(console, compare_stacks(before, after))


def _print_changed_lines(console: Console, changed_lines: Sequence[tuple[FunctionLine, WeightChange]]) -> None:
    """Print a table of the lines that changed most."""
    if not changed_lines:
        console.print("  No function in the program causes more or fewer faults than before.")
        return
    table = Table(box=None, padding=(0, 2, 0, 2))
    for name in ("change", "before", "after", "function and line"):
        table.add_column(name, justify="left" if name.startswith("function") else "right", overflow="fold")
    for function_line, change in changed_lines[:_MAX_LINES]:
        table.add_row(
            format_signed_number(change.growth),
            f"{change.before:,}",
            f"{change.after:,}",
            _format_function_line(function_line),
        )
    console.print(table)


def _print_changed_stacks(console: Console, changed_stacks: Sequence[StackChange]) -> None:
    """Print the stacks that changed most."""
    # Growth comes before an equally large decline.
    largest_first = sorted(changed_stacks, key=lambda stack: (-abs(stack.change.growth), -stack.change.growth))
    if largest_first:
        console.print("Stacks that changed most:")
    for stack in largest_first[:_MAX_STACKS]:
        console.print(
            f"  {_format_change(stack.change)}  {escape_text(format_call_chain(stack.frames))}", highlight=False
        )


def _format_function_line(function_line: FunctionLine) -> str:
    """Return a function with its source line after the change; if there is none, with the line before the change."""
    line = function_line.line_after or function_line.line_before
    is_gone = bool(function_line.line_before and not function_line.line_after)
    suffix = " (before)" if is_gone else ""
    file = shorten_source_path(function_line.function_key.file) or function_line.function_key.module
    location = f"{file}:{line}" if line else file
    return escape_text(f"{shorten_name(function_line.function_key.function)}  {location}{suffix}")


def _format_change(change: WeightChange) -> str:
    return f"{format_signed_number(change.growth)} ({change.before:,} → {change.after:,})"
