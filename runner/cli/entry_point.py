"""Entry point of the ``faultwatch`` command; imports a subcommand only when it is called."""

import errno
import gc
import importlib
import keyword
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import FrameType, ModuleType
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from runner.cli.escape_for_terminals import strip_escape_sequences
from runner.cli.terminal import widen_logs
from runner.commands_in_ci_logs import guard_stream
from runner.errors import FaultwatchError

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


_WRITE_ERRORS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}
"""Errors of the kernel if a file cannot be written. Any other error is a bug, and is shown in full."""


_DISK_FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT}
_MAX_NAME_CHARACTERS = 200
"""How many characters of a file's name are shown."""
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
        # If a signal handler raises while a class is created, as in an import, Python raises another error instead.
        if _signals:
            _exit_after_interrupt()
        _exit_after_crash(error)


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


_signals: list[int] = []
"""The signals that have asked this command to end."""


def _raise_interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    """Handle a signal like Ctrl-C, so that started programs are ended and settings are restored."""
    signal.signal(number, signal.SIG_IGN)  # a second signal would interrupt the clean-up
    _signals.append(number)
    raise KeyboardInterrupt


def _exit_after_interrupt() -> NoReturn:
    """Exit with the code with which a shell reports that a signal has ended the program."""
    click.echo("faultwatch: stopped; stored runs are kept", err=True)
    sys.exit(128 + (_signals[0] if _signals else signal.SIGINT))


def _exit_after_crash(error: Exception) -> NoReturn:
    """Exit with a distinct code after an internal error: Python's usual code 1 means that a metric got worse."""
    import traceback

    from runner.environment.secrets import hide_secrets

    text = "".join(traceback.format_exception(error))
    click.echo(strip_escape_sequences(hide_secrets(text, os.environ)), err=True, nl=False)
    click.echo("faultwatch: this is a bug in Faultwatch, so there is no result", err=True)
    click.echo("  → please report it, and include the lines above", err=True)
    sys.exit(os.EX_SOFTWARE)


def _show_usage(error: click.UsageError) -> None:
    """Print what is wrong with the arguments; without arguments, print the choices."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    path = error.ctx.command_path if error.ctx else "faultwatch"
    click.echo(strip_escape_sequences(f"{path}: {' '.join(error.format_message().split())}"), err=True)
    click.echo(f"  → {_suggest_revision_option(error)}`{path} -h` shows its arguments and options", err=True)


def _suggest_revision_option(error: click.UsageError) -> str:
    """Return a hint to use --revision if a command for one commit got too many arguments; otherwise an empty text."""
    names = {parameter.name for parameter in error.ctx.command.params} if error.ctx else set()
    has_too_many = "unexpected extra argument" in error.message and "revision" in names
    return "pass a commit with --revision; " if has_too_many else ""


def _find_remedy(error: OSError) -> str:
    """Return how to remedy an error of the kernel; empty if the error is a bug."""
    if error.errno == errno.ENAMETOOLONG:
        return "shorten the path or the name that was given"
    # An error on an open file contains no name. Without a name, only a full disk is certainly not a bug.
    if error.errno in _DISK_FULL_ERRORS:
        return "free some space, or set FAULTWATCH_HOME to a folder on another disk"
    if error.errno in _WRITE_ERRORS and error.filename:
        return "make this path accessible, or set FAULTWATCH_HOME to a folder that you can write to"
    return ""


def _run_command() -> None:
    """Run the command, and turn its errors into messages and exit codes."""
    _disable_plugin_search()
    widen_logs()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # Signals that nohup or a shell has set to be ignored stay ignored, so handlers replace only the defaults.
        if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:
            signal.signal(number, _raise_interrupt)
    try:
        # With standalone_mode=False, click returns the exit code instead of exiting.
        exit_code = cli(prog_name="faultwatch", standalone_mode=False)
    except click.exceptions.Abort:
        _exit_after_interrupt()
    except click.UsageError as error:
        _show_usage(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        click.echo(strip_escape_sequences(f"faultwatch: {error.format_message()}"), err=True)
        sys.exit(error.exit_code)
    except FaultwatchError as error:
        click.echo(strip_escape_sequences(f"faultwatch: {error.what}"), err=True)
        if error.remedy:
            click.echo(strip_escape_sequences(f"  → {error.remedy}"), err=True)
        sys.exit(2)
    except BrokenPipeError:
        # The reader has closed the pipe, which is not an error. Discard what Python flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)  # as a shell reports a program that the signal has ended
    except OSError as error:
        remedy = _find_remedy(error)
        if not remedy:
            raise
        file_name = str(error.filename or "a file")[:_MAX_NAME_CHARACTERS]
        click.echo(strip_escape_sequences(f"faultwatch: {file_name}: {error.strerror}"), err=True)
        click.echo(f"  → {remedy}", err=True)
        sys.exit(2)
    else:
        sys.exit(exit_code if isinstance(exit_code, int) else 0)
