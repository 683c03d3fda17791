"""Counts the page faults of each line of a Python program, which imports a copy of this module as ``sitecustomize``.

The module imports nothing else of Faultwatch, and must run in every Python from 3.8 on. Faults in a library belong to
the line of the program that called the library. The faults of all threads are counted together. A forked process counts
its own faults, and writes its own result. The module imports little, because its imports cause faults in the program.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from collections import Counter
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from resource import RUSAGE_SELF, getrusage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any, NoReturn

MAX_SECONDS = 20
"""Seconds of CPU time after which tracing stops, because it makes each line take about ten times as long."""
MAX_LINES = 100
"""Largest number of lines of the program that are written: those with the most faults."""
_EVENTS_PER_TIME_CHECK = 10_000
_MIN_UNWRITTEN_FAULTS, _MAX_UNWRITTEN_SHARE = 64, 0.25
"""A result is written again when it lacks more faults than these, and than this share of those written: the process may
be killed, as the workers of a pool are when it is closed."""
_COUNTING_PROCESS = "_FAULTWATCH_COUNTING_PROCESS"
"""The variable with the id of the process that counts. Its children inherit it with the variable by which Python finds
this module."""
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_TREE = os.path.dirname(_FOLDER) + os.sep
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, "/site-packages/", "/dist-packages/")


class LineCounter:
    """Assigns the faults between two trace events to the line that was executed in between."""

    def __init__(self) -> None:
        self.faults: Counter[tuple[CodeType, int]] = Counter()
        self.faults_after_fork: Counter[tuple[CodeType, int]] = Counter()
        self._n_faults = self._n_written_faults = 0
        self._is_writing = False
        self._is_own_by_file: dict[str, bool] = {}
        self._place: tuple[CodeType, int] | None = None
        self._assigned_faults = self._n_events = 0
        self._has_forked = False

    def start(self) -> None:
        """Begin to count, in this thread and in all threads that are started later."""
        self._assigned_faults = getrusage(RUSAGE_SELF).ru_minflt
        os.register_at_fork(before=self._note_fork, after_in_child=self._start_counting_in_child)
        threading.settrace(self.trace_call)
        sys.settrace(self.trace_call)

    def trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace the lines of a called function if it is one of the program's own."""
        if not self._is_own(frame.f_code.co_filename):
            return None
        self._move_to(frame)
        return self._trace_line

    def _trace_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Move on to the line that is executed next, or at a return to the nearest caller in the program itself."""
        if event == "line":
            self._move_to(frame)
        elif event == "return":
            caller = frame.f_back
            while caller is not None and not self._is_own(caller.f_code.co_filename):
                caller = caller.f_back
            self._move_to(caller)
        return self._trace_line

    def _note_fork(self) -> None:
        """Assign the faults before a fork, and note that from now on pages are shared with a child."""
        self._assign_faults()
        self._has_forked = True

    def _start_counting_in_child(self) -> None:
        """Begin to count the faults of a forked process, whose pages are shared with its parent."""
        self.faults.clear()
        self.faults_after_fork.clear()
        self._assigned_faults = self._n_faults = self._n_written_faults = 0
        self._is_writing = False  # another thread of the parent may have been writing

    def _assign_faults(self) -> None:
        """Assign the faults since the last trace event to the line that was executed."""
        fault_count = getrusage(RUSAGE_SELF).ru_minflt
        n_new_faults = fault_count - self._assigned_faults
        if not n_new_faults:
            return
        self._assigned_faults = fault_count
        if self._place is not None:
            self.faults[self._place] += n_new_faults
            if self._has_forked:
                self.faults_after_fork[self._place] += n_new_faults
            self._n_faults += n_new_faults
            n_unwritten_faults = self._n_faults - self._n_written_faults
            if n_unwritten_faults > max(_MIN_UNWRITTEN_FAULTS, _MAX_UNWRITTEN_SHARE * self._n_written_faults):
                self.write()

    def _move_to(self, frame: FrameType | None) -> None:
        """Assign the faults since the last trace event, and remember the line that comes next."""
        self._assign_faults()
        self._place = (frame.f_code, frame.f_lineno) if frame is not None else None
        self._n_events += 1
        if self._n_events % _EVENTS_PER_TIME_CHECK == 0 and time.process_time() > MAX_SECONDS:
            sys.settrace(None)
            threading.settrace(None)

    def _is_own(self, file: str) -> bool:
        """Return whether a file belongs to the program: it is in the tree, or neither a library nor generated code.

        The tracer, which is in the tree too, does not belong to the program.
        """
        is_own = self._is_own_by_file.get(file)
        if is_own is None:
            is_own = file.startswith(_TREE) or not (file.startswith("<") or any(part in file for part in _LIBRARIES))
            is_own = self._is_own_by_file[file] = is_own and not file.startswith(_FOLDER)
        return is_own

    def write(self) -> None:
        """Write the lines of this process with the most faults. The faults of writing itself are not counted.

        If another thread is writing, it leaves the result to that one.
        """
        if self._is_writing:
            return
        self._is_writing = True
        lines = [
            [code.co_filename, code.co_name, line, faults, self.faults_after_fork[code, line]]
            for (code, line), faults in self.faults.most_common(MAX_LINES)
        ]
        self._n_written_faults = self._n_faults
        result = os.path.join(_FOLDER, f"lines.{os.getpid()}.json")
        try:
            with open(f"{result}.partial", "w", encoding="utf-8", errors="replace") as file:
                json.dump(lines, file)
            os.replace(f"{result}.partial", result)
        except OSError:
            pass  # The execution has ended, and the folder is removed.
        self._assigned_faults = getrusage(RUSAGE_SELF).ru_minflt
        self._is_writing = False

    def end(self) -> None:
        """Stop counting, and write the result."""
        sys.settrace(None)
        self.write()

    def write_before_exit(self) -> None:
        """Let ``os._exit`` write the result: forked processes usually end by it, without what is registered."""
        exit_at_once = os._exit

        def write_and_exit(status: int) -> NoReturn:
            self.end()
            exit_at_once(status)

        os._exit = write_and_exit


def import_hidden_module() -> None:
    """Import the module ``sitecustomize`` that this one hides, if there is one."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


def is_child() -> bool:
    """Return whether a process that counts has started this one; the answer stays the same if it executes Python."""
    return os.environ.setdefault(_COUNTING_PROCESS, str(os.getpid())) != str(os.getpid())


if __name__ == "sitecustomize":
    import_hidden_module()
    if not is_child():
        _counter = LineCounter()
        atexit.register(_counter.end)
        _counter.write_before_exit()
        _counter.start()
