"""The ``faultwatch`` command: one module a subcommand, each imported only when it is called."""

import difflib
import errno
import gc
import importlib
import keyword
import os
import sys

import click

from runner import __version__
from runner.cli.untrusted_text import harmless
from runner.errors import FaultwatchError

COMMANDS = {
    "bisect": "Find the commits of a range that moved a metric.",
    "compare": "Compare two revisions, measured in turns.",
    "demo": "Measure the demo history and show it on the dashboard.",
    "doctor": "Say what on this host can forbid or spoil a measurement.",
    "env": "Show every knob of this host that can move a fault count.",
    "gate": "Compare the head of a pull request with its merge base, as a CI job.",
    "history": "Measure a range of a repository's history.",
    "import": "Store what others measured: pyperf suites, perf stat's output, CSV.",
    "job": "Carry out a job of the service, or look after jobs.",
    "jobs": "List the jobs that are under way.",
    "measure": "Measure a workload at one revision.",
    "nightly": "Measure every workload in every configuration of a matrix.",
    "profile": "Show where a case's faults, CPU time and waiting come from, and name the cause.",
    "spool": "Show the reports that the service does not have yet, or send them.",
    "try": "Measure what a remedy would do.",
    "workloads": "List the workloads that come along, and their cases.",
}
"""Name and short help. The modules are ``runner.cli.NAME`` (``NAME_`` where Python takes the name for itself), and each
has its click command as ``command``."""


# We have none, and looking for some reads the metadata of everything that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called: ``faultwatch --help`` must not wait for all of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand."""
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        command: click.Command = importlib.import_module(f"runner.cli.{module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand that is meant; where there is none, name the one that is spelt like it."""
        if args and args[0] not in COMMANDS and (near := difflib.get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(cls=LazyGroup)
@click.version_option(__version__, prog_name="faultwatch")
def cli() -> None:
    """Watch page faults, system time and throughput of native programs, and say which change moved them."""


_NO_PLACE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR}
"""What the kernel says where files cannot be written; any other error is a mistake of ours, to be seen in full."""


_LOG_COLUMNS = "160"


def main() -> None:
    """Run the command; a mistake that the caller can mend is one line on standard error and exit code 2."""
    try:
        _run()
    finally:
        gc.freeze()  # Else the interpreter looks through all of its memory as it ends: 30 ms.


def _run() -> None:
    if not (sys.stdout.isatty() or sys.stderr.isatty()):
        # A log has no width of its own, and tables that are broken at 80 columns cannot be read there.
        os.environ.setdefault("COLUMNS", _LOG_COLUMNS)
    try:
        # Not standalone, click returns the code of an Exit instead of leaving with it.
        status = cli(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("faultwatch: stopped; what was measured is kept", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except FaultwatchError as error:
        click.echo(harmless(f"faultwatch: {error.what}"), err=True)
        if error.remedy:
            click.echo(harmless(f"  → {error.remedy}"), err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output went away; nothing is wrong, and there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        if error.errno not in _NO_PLACE or error.filename is None:
            raise
        click.echo(f"faultwatch: {error.filename}: {error.strerror}", err=True)
        click.echo("  → it needs a folder to write to, with room in it: FAULTWATCH_HOME can name another one", err=True)
        sys.exit(2)
    else:
        sys.exit(status if isinstance(status, int) else 0)
