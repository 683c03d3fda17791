"""Follows a command and all its processes, and returns what they asked the kernel about files.

A small program (``watch.c``) becomes the parent of the command, outside of any sandbox. A filter of system calls makes
the kernel stop the command's processes at the calls that ask about files. Following takes some 20 µs for each of them,
and changes no fault count.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.dependencies.file_queries import Asked, make_unfollowed, parse_asked
from runner.dependencies.system_calls import open_query_filter
from runner.errors import FaultwatchError
from runner.execution.compilation import CompilationError, compile_program
from runner.settings import load_settings
from runner.system.scratch import make_scratch_folder

_SOURCE = Path(__file__).with_name("watch.c")
MAX_FOLLOWED_CALLS = 20_000
"""Calls of a measured program after which it is killed, because following it takes longer than measuring it."""


class QuestionWatch:
    """Follows one command from its start to its end; where the host does not allow that, it says so.

    Parameters
    ----------
    launched
        Whether the launcher starts the command, and what it asks itself does not matter.
    counted
        Whether its faults are counted meanwhile.
    """

    def __init__(self, *, launched: bool, counted: bool) -> None:
        self._begin = "launch" if launched else "start"
        self._counted = counted
        self._stack = ExitStack()
        self._prefix: list[str] = []
        self._file: Path | None = None
        self._obstacle = ""
        self.inherited: tuple[int, ...] = ()
        """Descriptors for the command to inherit."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            try:
                program = compile_program(_SOURCE, load_settings().programs)
                descriptor = stack.enter_context(open_query_filter(opened_too=self._counted))
                self._file = stack.enter_context(make_scratch_folder()) / "asked"
            except (CompilationError, FaultwatchError) as error:
                self._obstacle = str(error)
                return self
            how = (self._begin, "after" if self._counted else "before", str(MAX_FOLLOWED_CALLS * self._counted))
            self._prefix = [str(program), str(descriptor), str(self._file), *how]
            self.inherited = (descriptor,)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def wrap_command(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command under the watch."""
        return [*self._prefix, *command]

    def read_asked(self) -> Asked:
        """Return the command's questions, after the command and before the watch has ended."""
        if self._file is None:
            return make_unfollowed(self._obstacle)
        try:
            return parse_asked(self._file.read_bytes())
        except OSError:
            return make_unfollowed("the tracer ended early")
