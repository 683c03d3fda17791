"""Entry point of the ``faultwatch`` command; imports a subcommand only when it is called."""

import gc
import importlib
import keyword
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import ModuleType

import click
from click.shell_completion import CompletionItem

from runner.cli.exit_codes import exit_after_unexpected_error, raise_interrupt, run_and_exit
from runner.cli.terminal import widen_logs
from runner.commands_in_ci_logs import guard_stream

COMMANDS = {
    "attach": "Observe a running process, and show where its page faults come from.",
    "bisect": "Find the commits in a range that moved a metric.",
    "compare": "Measure two revisions interleaved and report what changed.",
    "completion": "Print a shell completion script for commands, options and workloads.",
    "demo": "Measure the demo history and show it on the dashboard.",
    "doctor": "Show what prevents or distorts measurements on this host, and how to fix it.",
    "env": "Show every setting of this host that can move a fault count.",
    "gate": "Compare the head of a pull request with its merge base, as a CI job.",
    "history": "Measure a range of a repository's history.",
    "init": "Propose a workload.toml for a repository, measure it, and write its CI file.",
    "import": "Store the results of other benchmark tools.",
    "job": "Run a job that the service ordered, or manage jobs.",
    "jobs": "List the open jobs.",
    "measure": "Measure a workload at one revision.",
    "nightly": "Measure every workload in every configuration of a matrix.",
    "profile": "Show where a case's faults, CPU time and waiting come from, and name the cause.",
    "publish": "Write the pages of a run store as static files.",
    "spool": "Show or send the reports that the service has not received yet.",
    "try": "Measure the effect of a remedy.",
    "workloads": "List the shipped workloads and their cases.",
}
"""Names and short help. The modules are ``runner.cli.NAME`` (``NAME_`` if the name is a Python keyword), each with a
click command called ``command``."""


def _apply_quiet(_context: click.Context, _option: click.Parameter, enabled: bool) -> None:
    """Silence progress and remarks for --quiet."""
    if enabled:
        from runner.cli.terminal import silence_console

        silence_console()


def _apply_verbose(_context: click.Context, _option: click.Parameter, enabled: bool) -> None:
    """Show builds, commands and requests for --verbose."""
    if enabled:
        from runner.cli.terminal import enable_execution_log

        enable_execution_log()


_COMMON_OPTIONS = (
    click.Option(
        ["--quiet", "-q"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_apply_quiet,
        help="Print no progress and no remarks on standard error, only errors that end the command.",
    ),
    click.Option(
        ["--verbose", "-v"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_apply_verbose,
        help="Also show builds, perf command lines, requests and waiting times.",
    ),
)
"""Options of every command."""


def _add_common_options(command: click.Command) -> click.Command:
    """Add the common options to a command, or to the commands of a group."""
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            _add_common_options(subcommand)
    elif _COMMON_OPTIONS[0] not in command.params:
        command.params += _COMMON_OPTIONS
    return command


class LazyGroup(click.Group):
    """A group that imports a subcommand only when it is called, so that ``faultwatch --help`` starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand, and return it; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        # Importing creates many objects but no garbage. Collecting it would take a seventh of the time.
        gc.disable()
        command: click.Command = importlib.import_module(f"runner.cli.{module}").command
        gc.freeze()  # later collections ignore the imported objects
        gc.enable()
        command.short_help = COMMANDS[cmd_name]
        return _add_common_options(command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the subcommands without importing them."""
        if incomplete.startswith("-"):
            # Complete only the options of the command itself: the completion of click.Group imports every subcommand.
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=text) for name, text in sorted(COMMANDS.items()) if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a subcommand; for an unknown name, suggest the most similar one."""
        import difflib

        if args and args[0] not in COMMANDS:
            similar_names = difflib.get_close_matches(args[0], COMMANDS, n=1)
            if similar_names:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {similar_names[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="faultwatch", prog_name="faultwatch")
def cli() -> None:
    """Measure page faults, system time and throughput of native programs, and report which change moved them."""


_COLLECTION_THRESHOLD_OBJECTS = 50_000
"""The number of new objects after which Python collects garbage. With the default, 700, this takes a twentieth of the
time of a short command."""


def main() -> None:
    """Run the command. For an error that the user can fix, print a line on standard error and exit with code 2."""
    gc.set_threshold(_COLLECTION_THRESHOLD_OBJECTS)
    _open_closed_streams()
    try:
        with redirect_stdout(guard_stream(sys.stdout)), redirect_stderr(guard_stream(sys.stderr)):
            _run_guarded()
    finally:
        gc.freeze()  # Otherwise the interpreter scans all objects on exit, which takes 30 ms.


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, as in ``2>&-``, without a destination.

    Python has no object for a closed stream. Its descriptor would become that of another file or socket, and programs
    would inherit this one as their standard stream.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere == descriptor:
                os.set_inheritable(nowhere, True)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w", encoding="utf-8"))


def _run_guarded() -> None:
    """Run the command; an unexpected exception ends with a crash report."""
    try:
        _run_command()
    except Exception as error:
        exit_after_unexpected_error(error)


def _disable_plugin_search() -> None:
    """Keep pydantic from looking for plugins, which would read the metadata of every package, although there are none.

    In the processes that this one starts, the variable has this effect. In this process, the module that looks for
    plugins is replaced as well: with the variable alone, it would still be imported, in a tenth of the time of all
    imports.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    loader = ModuleType("pydantic.plugin._loader")
    loader.get_plugins = tuple  # type: ignore[attr-defined]
    sys.modules.setdefault(loader.__name__, loader)


def _run_command() -> None:
    """Prepare this process, and run the command in it."""
    _disable_plugin_search()
    widen_logs()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # Signals that nohup or a shell has set to be ignored stay ignored, so handlers replace only the defaults.
        if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:
            signal.signal(number, raise_interrupt)
    run_and_exit(cli)
