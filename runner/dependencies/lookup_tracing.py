"""Traces the file lookups of a command and all its processes.

A small program (``lookup_tracer.c``) becomes the parent of the command, outside any sandbox. A seccomp filter makes the
kernel stop the command's processes at the system calls that look up files. Tracing takes about 20 µs for each such
call, and does not change any fault count.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.dependencies.lookup_filter import open_lookup_filter
from runner.dependencies.recorded_lookups import Lookups, make_untraced_lookups, parse_lookups
from runner.errors import FaultwatchError
from runner.execution.compilation import CompilationError, compile_program
from runner.settings import load_settings
from runner.system.scratch import make_scratch_folder

_SOURCE = Path(__file__).with_name("lookup_tracer.c")
MAX_TRACED_CALLS = 20_000
"""Calls after which a measured program is killed, because tracing it would take longer than measuring it."""
_TOO_MANY_LOOKUPS = "it looks up files too often"
"""The reason that ``lookup_tracer.c`` writes when it has killed the command."""


class LookupTracer:
    """Traces one command from its start to its end. If the host does not allow tracing, the lookups contain the reason.

    Parameters
    ----------
    is_launched
        Whether the launcher starts the command, so that the launcher's own lookups are ignored.
    is_counted
        Whether the faults of the command are counted at the same time.
    """

    def __init__(self, *, is_launched: bool, is_counted: bool) -> None:
        """Prepare the tracer, which is set up when the context is entered."""
        self._start_mode = "launch" if is_launched else "start"
        self._is_counted = is_counted
        self._stack = ExitStack()
        self._prefix: list[str] = []
        self._lookups_file: Path | None = None
        self._obstacle = ""
        self.inherited_descriptors: tuple[int, ...] = ()
        """Descriptors for the command to inherit."""

    def __enter__(self) -> Self:
        """Build the prefix of the traced command. If tracing is impossible, the command runs without a prefix."""
        with ExitStack() as stack:
            try:
                program = compile_program(_SOURCE, load_settings().programs)
                descriptor = stack.enter_context(open_lookup_filter(includes_open_files=self._is_counted))
                self._lookups_file = stack.enter_context(make_scratch_folder()) / "asked"
            except (CompilationError, FaultwatchError) as error:
                self._obstacle = str(error)
                return self
            filter_moment = "after" if self._is_counted else "before"
            max_calls = MAX_TRACED_CALLS if self._is_counted else 0  # 0 is no limit.
            options = (self._start_mode, filter_moment, str(max_calls))
            self._prefix = [str(program), str(descriptor), str(self._lookups_file), *options]
            self.inherited_descriptors = (descriptor,)
            self._stack = stack.pop_all()  # Keep the descriptor and the folder until this context ends.
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def wrap_command(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs a command under the tracer."""
        return [*self._prefix, *command]

    def read_lookups(self) -> Lookups:
        """Return the command's lookups. Call this after the command has ended, and before leaving the context."""
        if self._lookups_file is None:
            return make_untraced_lookups(self._obstacle)
        try:
            return parse_lookups(self._lookups_file.read_bytes())
        except OSError:
            return make_untraced_lookups("the tracer ended early")

    def has_killed_command(self) -> bool:
        """Return whether the command was killed for too many lookups. Call this when :meth:`read_lookups` may be."""
        return self.read_lookups().untraced_reason == _TOO_MANY_LOOKUPS
