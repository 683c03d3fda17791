"""The difference of two profiles on a terminal: which functions and lines fault more than before."""

from rich.console import Console
from rich.table import Table

from runner.cli.formatting import escape_text
from runner.cli.profile_tables import format_call_chain
from runner.contract.function_names import shorten_name
from runner.contract.profile import Profile
from runner.contract.profile_difference import Change, Place, compare_by_place, compare_by_stack

_MAX_PLACES = 10
_MAX_STACKS = 5


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
    where = f"  {place.where.file or place.where.module}{f':{line}' if line else ''}{suffix}"
    return escape_text(f"{shorten_name(place.where.function)}{where}")


def _format_change(change: Change) -> str:
    return f"{change.grown:+,} ({change.before:,} → {change.after:,})"
