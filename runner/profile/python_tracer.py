"""Counts the page faults of each line of a Python program. A copy of it is that program's ``sitecustomize`` module.

It stands alone and must run in every Python from 3.8 on. What a library does belongs to the line of the program that
called it. The faults of all threads are counted together, and those of child processes are not. It imports little: what
it imports would be imported by the program, whose faults are counted.
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
    from typing import Any

MAX_SECONDS = 20
"""CPU time after which nothing is traced any more: each line takes about ten times as long."""
MAX_LINES = 100
_EVENTS_PER_TIME_CHECK = 10_000
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_TREE = os.path.dirname(_FOLDER) + os.sep
_LIBRARIES = (os.path.dirname(os.__file__) + os.sep, "/site-packages/", "/dist-packages/")


class LineCounter:
    """Assigns the faults since the last event to the line that was executed in between."""

    def __init__(self) -> None:
        self.faults: Counter[tuple[CodeType, int]] = Counter()
        self.faults_after_fork: Counter[tuple[CodeType, int]] = Counter()
        self.process = os.getpid()
        self._is_own_by_file: dict[str, bool] = {}
        self._place: tuple[CodeType, int] | None = None
        self._assigned_faults = self._events = 0
        self._has_forked = False

    def start(self) -> None:
        """Begin to count, in this thread and in those to come."""
        self._assigned_faults = getrusage(RUSAGE_SELF).ru_minflt
        os.register_at_fork(before=self._note_fork)
        threading.settrace(self.trace_call)
        sys.settrace(self.trace_call)

    def trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace the lines of the program's own functions, and of no others."""
        if not self._is_own(frame.f_code.co_filename):
            return None
        self._move_to(frame)
        return self._trace_line

    def _trace_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Move to each line of a function and, when it returns, to the nearest caller of the program's own."""
        if event == "line":
            self._move_to(frame)
        elif event == "return":
            caller = frame.f_back
            while caller is not None and not self._is_own(caller.f_code.co_filename):
                caller = caller.f_back
            self._move_to(caller)
        return self._trace_line

    def _note_fork(self) -> None:
        """Assign the faults before a fork, from which on pages are shared."""
        self._assign_faults()
        self._has_forked = True

    def _assign_faults(self) -> None:
        """Assign the faults since the last event to the line that was executed."""
        fault_count = getrusage(RUSAGE_SELF).ru_minflt
        if fault_count != self._assigned_faults:
            if self._place is not None:
                self.faults[self._place] += fault_count - self._assigned_faults
                if self._has_forked:
                    self.faults_after_fork[self._place] += fault_count - self._assigned_faults
            self._assigned_faults = fault_count

    def _move_to(self, frame: FrameType | None) -> None:
        """Assign the faults since the last event, and remember the next line."""
        self._assign_faults()
        self._place = (frame.f_code, frame.f_lineno) if frame is not None else None
        self._events += 1
        if self._events % _EVENTS_PER_TIME_CHECK == 0 and time.process_time() > MAX_SECONDS:
            sys.settrace(None)
            threading.settrace(None)

    def _is_own(self, file: str) -> bool:
        """Return whether a file is the program's: in the tree, or no library. The tracer and generated code are not."""
        is_own = self._is_own_by_file.get(file)
        if is_own is None:
            is_own = file.startswith(_TREE) or not (file.startswith("<") or any(part in file for part in _LIBRARIES))
            is_own = self._is_own_by_file[file] = is_own and not file.startswith(_FOLDER)
        return is_own

    def write(self) -> None:
        """Write the lines with the most faults, if this is the process that was started."""
        sys.settrace(None)
        if os.getpid() != self.process:
            return
        lines = [
            [code.co_filename, code.co_name, line, faults, self.faults_after_fork[code, line]]
            for (code, line), faults in self.faults.most_common(MAX_LINES)
        ]
        with open(os.path.join(_FOLDER, "lines.json"), "x", encoding="utf-8", errors="replace") as file:
            json.dump(lines, file)


def import_hidden_module() -> None:
    """Import the ``sitecustomize`` that this one hides, if there is one."""
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


if __name__ == "sitecustomize":
    import_hidden_module()
    _counter = LineCounter()
    atexit.register(_counter.write)
    _counter.start()
