"""``faultwatch doctor``: show what prevents or distorts measurements on this host, and how to fix it."""

import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from runner.cli.activity import show_activity
from runner.cli.options import apply_options, json_option
from runner.cli.result_output import print_json

if TYPE_CHECKING:
    from runner.doctor.fix_and_undo import FixReport


@click.command(name="doctor")
@apply_options(
    click.option(
        "--fix", "action", flag_value="fix", help="First apply, as root, the fixes that are safe and can be undone."
    ),
    click.option("--undo", "action", flag_value="undo", help="First restore everything that --fix has changed."),
    json_option,
)
def command(action: str | None, as_json: bool) -> None:
    """Check for everything that prevents or distorts measurements on this host, and show how to fix it.

    --fix tunes processors and interrupts with `pyperf system tune` and corrects the memory settings until the host
    reboots. Without root, it lists what root can fix. It waits until no measurement is running on this host.

    Exit code 0: this host can measure, and --fix or --undo, if given, changed everything that it had to. 1: something
    prevents measuring, needs root, or failed.
    """
    from runner.cli.measuring_setup import create_host_turn
    from runner.doctor.checks import is_measurable, run_checks
    from runner.doctor.fix_and_undo import apply_fixes, undo_fixes
    from runner.doctor.probe import HostProbe
    from runner.settings import load_settings

    settings = load_settings()
    host = HostProbe(home=settings.home)
    report = None
    if action:
        with create_host_turn(settings) as turn:
            turn.begin()  # Changing the host would invalidate a running measurement.
            with show_activity("fixing this host" if action == "fix" else "undoing the fixes"):
                report = apply_fixes(host) if action == "fix" else undo_fixes(host)
    with show_activity("examining this host"):
        checks = list(run_checks(host))
    measurable = is_measurable(checks)
    if as_json:
        document = {"measurable": measurable, "checks": [check.build_document() for check in checks]}
        print_json(document | ({action: asdict(report)} if action and report else {}))
    else:
        from runner.cli.doctor_table import show_checks

        show_checks(checks, measurable)
        if report:
            _show_fixes(report, undoing=action == "undo")
    is_incomplete = report is not None and bool(report.failed or report.needs_root)
    sys.exit(0 if measurable and not is_incomplete else 1)


def _show_fixes(report: "FixReport", *, undoing: bool) -> None:
    """Print what was changed, what failed, and what only root can fix."""
    click.echo("\nUndone:" if undoing else "\nFixed:")
    for name, (before, after) in report.changed.items():
        click.echo(f"  /{name}: {before} → {after}")
    if not report.changed:
        click.echo("  nothing")
    for line in report.failed:
        click.echo(f"  failed: {line}")
    if report.needs_root:
        click.echo(f"  root can fix: {', '.join(report.needs_root)}  (sudo {sys.argv[0]} doctor --fix)")
    if report.changed and not undoing:
        click.echo("To undo this: faultwatch doctor --undo")
