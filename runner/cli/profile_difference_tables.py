"""The difference of two profiles on a terminal: which functions and lines fault more than before."""

from rich.console import Console
from rich.table import Table

from runner.cli.formatting import escape_text
from runner.cli.profile_tables import format_call_chain
from runner.contract.diagnosis import Difference
from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_quantity
from runner.contract.profile import Profile
from runner.contract.profile_difference import Change, Place, compare_by_place, compare_by_stack

_MAX_CAUSES = 5
_MAX_PLACES = 10
_MAX_STACKS = 5


def show_causes(difference: Difference) -> None:
    """Print what the difference in faults consists of, the largest part first, each with its line and its price."""
    console = Console()
    growth = difference.after - difference.before
    console.print(
        f"[bold]{growth:+,} faults[/] ({difference.before:,} → {difference.after:,})" + (":" if growth else "."),
        highlight=False,
    )
    for part in difference.parts[:_MAX_CAUSES]:
        subject = part.place or "the program"
        share = f", {part.place_faults:+,} of them there" if 0 != part.place_faults != part.faults else ""
        price = f", {format_quantity(part.seconds, 's')} of CPU time" if part.seconds else ""
        line = f"  {part.faults:+,}  {subject} {part.sentence} ({part.cause}{share}{price})"
        console.print(escape_text(line), highlight=False)
    if changed := difference.changed_place:
        line = f"  Of the changed lines, {changed.place} grew most: +{changed.faults:,}."
        console.print(escape_text(line), highlight=False)


def show_difference(before: Profile, after: Profile) -> None:
    """Print the functions and lines of the program that changed, and the stacks that changed most."""
    console = Console()
    sides = [profile.anatomy.counted if profile.anatomy else 0 for profile in (before, after)]
    console.print()
    console.print(
        f"[bold]{before.revision.commit[:10]} → {after.revision.commit[:10]}[/]: "
        f"{sides[0]:,} → {sides[1]:,} faults ({sides[1] - sides[0]:+,})",
        highlight=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 2))
    for name in ("change", "before", "after", "function and line"):
        table.add_column(name, justify="left" if name.startswith("function") else "right", overflow="fold")
    places = compare_by_place(before, after)
    for place, change in places[:_MAX_PLACES]:
        table.add_row(f"{change.grown:+,}", f"{change.before:,}", f"{change.after:,}", _format_place(place))
    if places:
        console.print(table)
    else:
        console.print("  No function of the program faults more or less than before.")
    moved = sorted(compare_by_stack(before, after), key=lambda stack: (-abs(stack.change.grown), -stack.change.grown))
    if moved:
        console.print("Stacks that changed most:")
    for stack in moved[:_MAX_STACKS]:
        console.print(
            f"  {_format_change(stack.change)}  {escape_text(format_call_chain(stack.frames))}", highlight=False
        )


def _format_place(place: Place) -> str:
    """Return a function with its source line for the terminal."""
    line = place.line_after or place.line_before
    suffix = " (before)" if not place.line_after and place.line_before else ""
    location = f"  {place.where.file or place.where.module}{f':{line}' if line else ''}{suffix}"
    return escape_text(f"{shorten_name(place.where.function)}{location}")


def _format_change(change: Change) -> str:
    return f"{change.grown:+,} ({change.before:,} → {change.after:,})"
