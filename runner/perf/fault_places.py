"""Which faults of one execution hit which files: exact, and the list of all files that the program mapped.

A small program of ours (``fault_places.c``) follows the measured one and all it starts, as perf does: ``perf record``
takes a second for what is done here in milliseconds, and needs room on disk for each fault. Such an execution is no
sample: to write each fault down takes time.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.execution.compilation import CompilationError, compile_program
from runner.execution.start_block import BASE_VARIABLES
from runner.settings import load_settings

_SOURCE = Path(__file__).with_name("fault_places.c")
_PATIENCE = 10.0
"""Seconds in which it must be attached, and in which it must have said what it found."""
_NO_FILES = ("//", "/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage")  # noqa: S108 - the kernel's names


@dataclass(frozen=True, slots=True)
class FileFaults:
    """A file that was mapped.

    Attributes
    ----------
    path
        As the program itself sees it.
    inode
        Its number, by which it is known again.
    pages
        How many pages of it were mapped, over all mappings: no more can have faulted for the first time.
    faults
        Faults on addresses at which it was mapped.
    """

    path: str
    inode: int
    pages: int
    faults: int


@dataclass(frozen=True, slots=True)
class FaultPlaces:
    """Where the faults of one execution were.

    Attributes
    ----------
    total
        All faults, minor and major.
    in_kernel
        Those of them that the kernel took while it copied for the program; None where it does not tell.
    lost
        Records for which there was no room: with any, the numbers are too small.
    files
        All files that were mapped.
    """

    total: int
    in_kernel: int | None
    lost: int
    files: tuple[FileFaults, ...]

    @property
    def in_files(self) -> int:
        """Faults on addresses at which files were mapped."""
        return sum(file.faults for file in self.files)


class FaultPlacesRecorder:
    """Follows a program from before its start to its end; see :class:`runner.perf.recording.Watcher`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._found: FaultPlaces | None = None

    def attach(self, processes: Sequence[int]) -> None:
        """Attach to processes that wait, and wait until that is done; where it cannot be, nothing will be found."""
        try:
            program = compile_program(_SOURCE, load_settings().programs)
        except CompilationError:
            return
        self._process = subprocess.Popen(
            [program, *map(str, processes)],
            env=dict(BASE_VARIABLES),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # "ready", or nothing where it has ended.

    def close(self) -> None:
        """Let it say what it found."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            output, _ = process.communicate(timeout=_PATIENCE)
            self._found = parse_fault_places(output)
        except (subprocess.TimeoutExpired, ValueError):
            process.kill()
            process.communicate()

    def found(self) -> FaultPlaces | None:
        """Return what it found, after :meth:`close`; None where it could not tell."""
        return self._found


def parse_fault_places(output: bytes) -> FaultPlaces:
    """Read what the program printed.

    Raises
    ------
    ValueError
        Where it is not that.
    """
    head, *rows = output.rstrip(b"\0").split(b"\0")
    kernel, lost, total, in_kernel = map(int, head.split())
    files = []
    for row in rows:
        faults, pages, _, _, inode, name = row.split(b" ", 5)
        path = name.decode(errors="surrogateescape")
        if path.startswith("/") and not path.startswith(_NO_FILES):
            files.append(FileFaults(path, int(inode), int(pages), int(faults)))
    return FaultPlaces(total, in_kernel if kernel else None, lost, tuple(files))
