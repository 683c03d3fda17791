"""The result of trying a command."""

from pathlib import PurePosixPath

from msgspec import Struct

from runner.adoption.proposal import IMPORT_OPTION, RunProposal

_START_FAULTS, START_CPU_SECONDS = 100, 0.02
"""A program below both limits does little more than start: one that is linked only to the C library starts with 50 to
100 faults, in a few milliseconds."""
_QUICK_START_SECONDS = 0.004
"""A native program that ends within this CPU time, and takes fewer faults than any such program takes to start, has
found nothing to do: its standard input is empty, for example."""
_RUNTIME_START_FAULTS, _RUNTIME_START_SECONDS = 150, 0.005
"""The same for a program that is linked to the runtime library of Fortran or C++ too: 100 to 140 faults."""
_START_MEMORY_FAULTS = 64
"""Nearly any native program touches fewer pages outside of files than this when it starts and prints something: 15 to
50. A program that reads its input into the same few buffers takes no more, however large the input is."""
MAX_NATIVE_START_FAULTS = 500
"""A native program starts with fewer faults than this. A language runtime takes more, and its start takes long."""
LONG_CPU_SECONDS, _LONG_NATIVE_CPU_SECONDS = 1.0, 0.25
"""More CPU time, in seconds, than nearly any program takes to start: with a language runtime, and without one."""
_MAX_LOAD_FACTOR = 5
"""The load of a host prolongs an execution up to about this many times."""
_INTERPRETERS = frozenset({"node", "java", "python", "python3", "sh"})


class TriedCommand(Struct, frozen=True):
    """A command that was tried, and its result.

    Attributes
    ----------
    faults
        Its minor faults in each execution; empty if it failed.
    problem
        Why it failed, in one line; empty if it worked.
    timed_out
        Whether it failed because it did not end in time.
    seconds
        The duration of its longest execution, or of the trial if it failed.
    prints_usage
        Whether it only printed its usage.
    own_bytes
        A digest of the build's files that it mapped or read; empty if unknown.
    own_faults
        Its faults in files of the build, which show how many pages of the project's code it executes.
    is_foreign
        Whether it executes nothing that the project builds, such as a script for another program.
    reports_error
        Whether it printed an error message, although it succeeded.
    memory_faults
        Its faults outside of code, in memory or data that it touches for the first time; None if unknown.
    only_imports
        Whether it takes hardly more faults than the import of the project's package.
    cpu_seconds
        The CPU time of its quickest execution; 0 if it is unknown.
    """

    run: RunProposal
    faults: tuple[int, ...]
    problem: str = ""
    timed_out: bool = False
    seconds: float = 0.0
    prints_usage: bool = False
    own_bytes: str = ""
    own_faults: int = 0
    is_foreign: bool = False
    cpu_seconds: float = 0.0
    reports_error: bool = False
    memory_faults: int | None = None
    only_imports: bool = False

    @property
    def work_seconds(self) -> float:
        """How long an execution takes on a host that does nothing else.

        This is its CPU time if that is lower than its duration, which the load of the host prolongs. A program whose
        duration is much longer waits for something else.
        """
        may_be_prolonged = self.cpu_seconds * _MAX_LOAD_FACTOR >= self.seconds
        return min(self.cpu_seconds, self.seconds) if may_be_prolonged else self.seconds

    @property
    def did_work(self) -> bool:
        """Whether the command seems to have done some work of the project."""
        return (
            bool(self.faults) and not self.prints_usage and not self.run.only_describes_itself and not self.is_foreign
        )

    @property
    def may_only_start(self) -> bool:
        """Whether the command may do nothing but start."""
        return self.has_no_work or self.takes_only_start

    @property
    def has_no_work(self) -> bool:
        """Whether nothing gives the command work: it has no input, takes little CPU time, and is not a real test.

        A test that only imports the project is not a real test.
        """
        is_import = IMPORT_OPTION in self.run.command
        is_interpreted = PurePosixPath(self.run.command.partition(" ")[0]).name in _INTERPRETERS
        start_seconds = LONG_CPU_SECONDS if is_interpreted else _LONG_NATIVE_CPU_SECONDS
        works_long = self.cpu_seconds >= start_seconds and not is_import
        is_real_test = self.run.is_test and not self.only_imports
        return self.run.may_do_nothing and not is_real_test and not works_long

    @property
    def takes_only_start(self) -> bool:
        """Whether a command without an input takes no more faults and CPU time than the start of a program.

        This also shows that a benchmark or a test does nothing. It is never true of a server.
        """
        return self.is_like_start and not self.run.file and not self.run.is_server

    @property
    def ends_at_once(self) -> bool:
        """Whether a command without an input takes as little CPU time as a program that has found nothing to do.

        A text that another command writes is too short to be an input.
        """
        is_quick = self.is_nearly_start and self.cpu_seconds < _QUICK_START_SECONDS
        is_real_test = self.run.is_test and not self.run.reads_text
        return is_quick and not (self.run.file or self.run.is_server or is_real_test)

    @property
    def is_like_start(self) -> bool:
        """Whether the command takes no more faults and CPU time than the start of a native program."""
        limits = (
            (_START_FAULTS * self._n_programs, START_CPU_SECONDS),
            (_RUNTIME_START_FAULTS, _RUNTIME_START_SECONDS),
        )
        return bool(self.faults) and any(
            min(self.faults) < faults and 0 < self.cpu_seconds < seconds for faults, seconds in limits
        )

    @property
    def touches_little_memory(self) -> bool:
        """Whether the command touches hardly more memory than an empty native program, however long it computes."""
        if not (self.faults and self.cpu_seconds) or self.run.is_server:
            return False
        takes_few_pages = (
            self.memory_faults is not None and self.memory_faults < _START_MEMORY_FAULTS * self._n_programs
        )
        return takes_few_pages or min(self.faults) < _RUNTIME_START_FAULTS

    @property
    def _n_programs(self) -> int:
        """How many programs the command starts, with a shell and the commands that the shell executes first."""
        return 1 + self.run.command.startswith("sh -c ") + self.run.command.count("&& mkdir ")

    @property
    def is_nearly_start(self) -> bool:
        """Whether the command takes a few faults more than the start of a native program, and hardly any CPU time."""
        return (
            bool(self.faults)
            and min(self.faults) < MAX_NATIVE_START_FAULTS
            and 0 < self.cpu_seconds < START_CPU_SECONDS
        )
