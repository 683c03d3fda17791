"""What build-system detection proposes: how to build a project, and what to run."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct, field
from msgspec.structs import replace

PYTHON_STARTS = ("venv/bin/python ", "python3 ")
"""How commands start that run a Python program."""
ANY_SHELL_START = "sh -c '"
"""How a command starts that runs several steps in a shell. It ends with the quote."""


class LoadProposal(Struct, frozen=True):
    """What loads a server, as in ``[load]`` of a workload file.

    Attributes
    ----------
    command
        The command line of one window, with the placeholders ``{port}`` and ``{socket}``.
    output, pattern
        The format in which it reports its work, and the pattern if the format is ``regex``.
    fill
        A command line that fills the server with data once, before the windows; empty if none is needed.
    operations
        The number of operations in a window, if the command does not report it.
    """

    command: str
    output: str = "none"
    pattern: str = ""
    fill: str = ""
    operations: int | None = None


class RunProposal(Struct, frozen=True):
    """A command to measure, as in ``[run]`` or ``[server]`` of a workload file.

    Attributes
    ----------
    command
        A command line, relative to the build's directory.
    output
        The format in which the program reports its work.
    may_do_nothing
        Whether nothing suggests that the command does any work, because it has no input and is not a benchmark.
    stand_in_file
        A file of the project that the program reads in place of a user's input; empty if there is none.
    input_file
        A file that the project keeps as an input, such as a benchmark in the language that the program interprets.
    environment
        Variables of the measured process.
    is_test
        Whether it is a test program or an example script of the project, which needs no input, but may not do the work
        that users wait for.
    program
        The program that the command starts, or the script that an interpreter executes; empty if it is the command's
        first word.
    load
        What loads the command, if it is a server.
    obstacle
        Why a server cannot be measured, in a sentence; empty if no obstacle is known.
    ready_command
        A command line that succeeds once the server is ready; empty if it is ready when it listens on ``{port}``.
    stop_signal
        The signal that stops a server; empty for the default signal.
    from_service_file
        Whether it comes from a service file of the project (a systemd unit or a Dockerfile), so that it probably does
        not end.
    is_fallback
        Whether it is tried only if no earlier command with a file did any work with the program.
    file_may_change
        Whether a document shows it with a file that has changed lately: it is tried only if the program does no more
        than start with the files that have not.
    http_error
        The HTTP error status with which the server answers the requests of its load; 0 if it serves them.
    is_folder
        Whether its input is a folder, which is tried only if the program works on the folder in which it starts.
    takes_files
        Whether the program is also tried with files of the project. These commands are added after the build.
    reads_text
        Whether another command writes a short text for the program, as a document of the project shows.
    is_heaviest
        Whether its input causes the most faults of many similar ones.
    passes_number
        Whether its input is a script, and is given the number by which it chooses how much it computes.
    """

    command: str
    output: str = "none"
    environment: Mapping[str, str] = field(default_factory=dict)
    may_do_nothing: bool = False
    stand_in_file: str = ""
    input_file: str = ""
    is_test: bool = False
    program: str = ""
    load: LoadProposal | None = None
    obstacle: str = ""
    ready_command: str = ""
    stop_signal: str = ""
    from_service_file: bool = False
    is_fallback: bool = False
    file_may_change: bool = False
    http_error: int = 0
    is_folder: bool = False
    takes_files: bool = False
    reads_text: bool = False
    is_heaviest: bool = False
    passes_number: bool = False

    @property
    def is_server(self) -> bool:
        """Whether it is known to be a server. Only a server's command contains placeholders and escaped braces."""
        return self.load is not None or bool(self.obstacle)

    @property
    def file(self) -> str:
        """The file of the project that the program gets; empty if it gets none."""
        return self.input_file or self.stand_in_file

    @property
    def is_promising(self) -> bool:
        """Whether the command probably does the work that users wait for, as a benchmark does."""
        return not self.may_do_nothing and not self.stand_in_file

    @property
    def only_describes_itself(self) -> bool:
        """Whether the command only prints a version or the usage of the program."""
        return self.command.endswith((" --version", " --help"))


class BuildProposal(Struct, frozen=True):
    """A way to build a project, as in ``[build]`` of a workload file.

    Attributes
    ----------
    system
        The usual name of the build system.
    command
        A command line; empty if nothing is built.
    tools
        Programs that the build needs.
    min_versions
        The oldest version of each tool that can build the project.
    environment
        Variables of the build.
    git
        Whether the build derives a version from the git history.
    incomplete
        Whether the clone lacks submodules, so that the build must work without them.
    runs
        Commands that the sources suggest, the most promising first. Commands for the programs that are found in the
        built tree are added later.
    builds_tests
        Whether it also builds the project's tests, examples and tools, which other builds of the same system omit.
    is_reduced
        Whether it builds less than an earlier proposal of the same system, in case that one fails.
    depth
        How many folders below the top its build file is. A build file at the top is more likely the usual one.
    offline
        Whether it uses only packages that this host has. Another proposal is the same build with downloads.
    runs_loose_scripts
        Whether its commands are scripts outside a package, which may only help to develop a program in another
        language.
    """

    system: str
    command: str
    tools: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[RunProposal, ...] = ()
    min_versions: Mapping[str, str] = field(default_factory=dict)
    git: bool = False
    incomplete: bool = False
    builds_tests: bool = False
    is_reduced: bool = False
    depth: int = 0
    offline: bool = False
    runs_loose_scripts: bool = False


def make_build_serial(build: BuildProposal) -> BuildProposal | None:
    """Return the build with one job at a time; None if it already runs so."""
    if JOBS_OPTION not in build.command:
        return None
    return replace(build, command=build_shell_command(_get_steps(build.command).replace(f" {JOBS_OPTION}", "")))


def add_build_step(build: BuildProposal, step: str) -> BuildProposal:
    """Append a step to a build."""
    return replace(build, command=build_shell_command(*filter(None, (_get_steps(build.command), step))))


def propose_all_or_each(system: str, steps: Sequence[str]) -> list[BuildProposal]:
    """Return a build with all steps, then builds with one of them each, in case that one step fails.

    The first word of the first step is the tool of a build.
    """
    choices = [steps] if steps else []
    if len(steps) > 1:
        choices += [[step] for step in steps]
    return [BuildProposal(system, build_shell_command(*choice), (choice[0].partition(" ")[0],)) for choice in choices]


def _get_steps(command: str) -> str:
    """Return the steps of a command line, without the shell command around them."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark is not closed
        return command
    return words[2] if words[:2] == ["sh", "-c"] and len(words) == 3 else command


def build_shell_command(*steps: str) -> str:
    """Return a command line that runs steps one after the other; a single simple command runs without a shell."""
    text = " && ".join(steps)
    return f"sh -c {shlex.quote(text)}" if any(sign in text for sign in "&|;$*<>(){}\"'~") else text


def build_command_in_folder(folder: str, command: str) -> str:
    """Return a command line that executes ``command`` in a folder; its program's path is relative to the top."""
    if folder in ("", "."):
        return command
    path_to_top = "/".join([".."] * len(PurePosixPath(folder).parts))
    return build_shell_command(f"cd {folder}", f"exec {path_to_top}/{command}")


JOBS_OPTION = "-j$(nproc)"
"""The option with which a build runs as many jobs as there are processors."""
IMPORT_OPTION = '-c "import '
"""The option with which Python only imports a module."""
