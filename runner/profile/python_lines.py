"""Counts the faults of each line of a Python program. Recorded stacks show only functions of the interpreter.

Python imports a module named ``sitecustomize`` when it starts. In a separate execution, the program gets
:mod:`runner.profile.python_tracer` as this module, in a folder of its tree.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from runner.contract.profile import ProfileScope, PythonLine
from runner.contract.runtimes import RuntimeName, find_runtime
from runner.profile.labels import cut_label
from runner.profile.line_folder import LineFolder
from runner.profile.relative_paths import make_path_relative
from runner.system.valid_text import make_valid_text

_TRACER = Path(__file__).with_name("python_tracer.py")
_RESULTS = "lines.*.json"
"""The names of the results: one for each process."""
_MAX_BYTES = 16 << 20
"""The largest number of bytes that are read of the results: the program that writes them can make them any size."""


_MAX_LINES = 100
"""The largest number of lines in a profile."""


class PythonLineRecorder:
    """Makes a Python program count the faults of its lines, in one execution.

    Attributes
    ----------
    lines
        The lines with their faults, the line with the most faults first; empty if the program wrote no result.
    """

    def __init__(self, tree: Path) -> None:
        self.lines: tuple[PythonLine, ...] = ()
        self._root = f"{tree.absolute()}/"
        self._folder = LineFolder(tree)

    def add_variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with which Python finds the tracer."""
        folders = [str(self._folder.path), *filter(None, [variables.get("PYTHONPATH")])]
        return {**variables, "PYTHONPATH": os.pathsep.join(folders)}

    def attach(self, processes: Sequence[int]) -> None:
        """Put the tracer into the tree; not earlier, because each execution restores the tree first."""
        self._folder.create({"sitecustomize.py": _TRACER.read_bytes()})

    def close(self) -> None:
        """Read the results, and remove the tracer."""
        self.lines = parse_lines(self._folder.remove(_RESULTS, _MAX_BYTES), self._root)


def may_count_lines(scope: ProfileScope) -> bool:
    """Return whether the lines of a runtime, Python or Java, can be counted: only for the whole process.

    A region of interest and the windows of a server are a part of the time, which the runtime does not know.
    """
    return scope == "process"


def executes_python(files: Iterable[Path]) -> bool:
    """Return whether one of the files of a program is a Python interpreter."""
    runtime = find_runtime(str(file) for file in files)
    return runtime is not None and runtime[0] is RuntimeName.PYTHON


def parse_lines(contents: Iterable[bytes], root: str) -> tuple[PythonLine, ...]:
    """Parse the results of the tracer, and add up the faults of each line in all processes.

    Invalid lines are left out. Files below ``root`` get relative paths.
    """
    lines: dict[tuple[str, str, int], PythonLine] = {}
    for content in contents:
        for line in _parse_process(content, root):
            key = line.file, line.function, line.line
            other = lines.get(key)
            lines[key] = line if other is None else _add_lines(other, line)
    return tuple(sorted(lines.values(), key=lambda line: -line.faults)[:_MAX_LINES])


def _add_lines(first: PythonLine, second: PythonLine) -> PythonLine:
    """Return a line with its faults in two processes together."""
    sums = {"faults": first.faults + second.faults, "after_fork": first.after_fork + second.after_fork}
    return first.model_copy(update=sums)


def _parse_process(content: bytes, root: str) -> Iterator[PythonLine]:
    """Yield the valid lines in the result of a process."""
    with suppress(ValueError, RecursionError):
        document = json.loads(content)
        for entry in document if isinstance(document, list) else ():
            with suppress(ValidationError, ValueError, TypeError, AttributeError):
                file, function, line, faults, after_fork = entry
                yield PythonLine(
                    file=cut_label(make_valid_text(make_path_relative(file, root))),
                    function=function,
                    line=line,
                    faults=faults,
                    after_fork=after_fork,
                )
