"""``faultwatch doctor``: what on this host can forbid or spoil a measurement, and the remedy."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from runner.doctor.fix import Mending


@click.command("doctor", short_help="What on this host can forbid or spoil a measurement, and the remedy.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@click.option("--fix", "wanted", flag_value="fix", help="First mend what is safe and can be undone (as root).")
@click.option("--undo", "wanted", flag_value="undo", help="First put everything back as it was before --fix.")
def command(as_json: bool, wanted: str | None) -> None:
    """Look for everything that can forbid or spoil a measurement on this host, and say how to mend it.

    --fix quietens processors and interrupts through `pyperf system tune` and mends the memory settings. It lasts until
    the host starts anew. Who is not root is told what root could mend.

    Exit code 0: this host can measure, and --fix or --undo did all that it can. 1: something forbids it, or is left to
    root, or did not work.
    """
    from runner.doctor import Host, examine, is_measurable
    from runner.doctor.fix import fix, undo
    from runner.settings import load_settings

    host = Host(home=load_settings().home)
    mending = {"fix": fix, "undo": undo}[wanted](host) if wanted else None
    checks = list(examine(host))
    measurable = is_measurable(checks)
    if as_json:
        document = {"measurable": measurable, "checks": [check.document() for check in checks]}
        click.echo(json.dumps(document | ({wanted: asdict(mending)} if wanted and mending else {}), indent=2))
    else:
        from runner.doctor.results_table import show

        show(checks, measurable)
        if mending:
            _tell(mending, undoing=wanted == "undo")
    sys.exit(0 if measurable and not (mending and (mending.failed or mending.needs_root)) else 1)


def _tell(mending: "Mending", *, undoing: bool) -> None:
    click.echo("\nUndone:" if undoing else "\nMended:")
    for name, (before, after) in mending.changed.items():
        click.echo(f"  /{name}: {before} → {after}")
    if not mending.changed:
        click.echo("  nothing")
    for line in mending.failed:
        click.echo(f"  failed: {line}")
    if mending.needs_root:
        click.echo(f"  root can mend: {', '.join(mending.needs_root)}  (sudo {sys.argv[0]} doctor --fix)")
    if mending.changed and not undoing:
        click.echo("To put it back: faultwatch doctor --undo")
