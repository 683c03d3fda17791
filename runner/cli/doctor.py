"""``faultwatch doctor``: what on this host can forbid or spoil a measurement, and the remedy."""

import json
import sys

import click


@click.command("doctor", short_help="What on this host can forbid or spoil a measurement, and the remedy.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def command(as_json: bool) -> None:
    """Look for everything that can forbid or spoil a measurement on this host, and say how to mend it.

    Exit code 0: this host can measure. 1: something forbids it.
    """
    from runner.doctor import Host, examine, is_measurable
    from runner.settings import load_settings

    checks = list(examine(Host(home=load_settings().home)))
    measurable = is_measurable(checks)
    if as_json:
        click.echo(json.dumps({"measurable": measurable, "checks": [check.document() for check in checks]}, indent=2))
    else:
        from runner.doctor.show import show

        show(checks, measurable)
    sys.exit(0 if measurable else 1)
