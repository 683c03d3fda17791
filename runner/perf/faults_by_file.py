"""Watches one execution of a program: counts its faults by file, and lists all files that it mapped.

The counts are exact. A small program (``faults_by_file.c``) reads the kernel's perf records of the measured program and
all its children. It takes milliseconds where ``perf record`` takes a second, and uses no disk space. A watched
execution is not a sample, because recording every fault takes time.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from runner.execution.compilation import CompilationError, compile_program
from runner.execution.process_variables import BASE_VARIABLES
from runner.settings import load_settings

_SOURCE = Path(__file__).with_name("faults_by_file.c")
_TIMEOUT_SECONDS = 60.0
"""Seconds that the program may take to print its counts."""
_NON_FILE_PREFIXES = ("//", "/dev/zero", "/dev/shm/", "/memfd:", "/SYSV", "/anon_hugepage")  # noqa: S108 - the kernel's names


class FileFaults(Struct, frozen=True):
    """A file that was mapped during the execution.

    Attributes
    ----------
    path
        The path by which the program sees the file.
    device, inode
        The major and minor number of the file's device, and its inode number; they identify it outside of a sandbox.
    faults
        The faults on addresses at which the file was mapped.
    """

    path: str
    device: tuple[int, int]
    inode: int
    faults: int


class FaultsByFile(Struct, frozen=True):
    """The faults of one execution.

    Attributes
    ----------
    total
        All faults, minor and major.
    in_kernel
        The faults that the kernel took while it copied for the program; None if this user may not count them.
    lost
        The number of records that were lost because a buffer was full. If it is not 0, the other counts are too small.
    files
        All files that were mapped.
    hidden
        The names of executed programs of which no mapping was recorded, because the kernel hides them from perf.
        Programs that ran while records were lost are not included.
    """

    total: int
    in_kernel: int | None
    lost: int
    files: tuple[FileFaults, ...]
    hidden: tuple[str, ...] = ()

    @property
    def in_files(self) -> int:
        """Faults on addresses at which files were mapped."""
        return sum(file.faults for file in self.files)


class FaultsByFileRecorder:
    """Watches a program from before its start to its end; a :class:`runner.perf.attached_recorder.Tracer`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._faults: FaultsByFile | None = None

    def attach(self, processes: Sequence[int]) -> None:
        """Attach to waiting processes, and return when this is done. If it is impossible, there is no result."""
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
        self._process.stdout.readline()  # "ready", or the end of the file if the process failed.

    def close(self) -> None:
        """Stop watching, and read the result."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            output, _ = process.communicate(timeout=_TIMEOUT_SECONDS)
            self._faults = parse_faults_by_file(output)
        except (subprocess.TimeoutExpired, ValueError):  # ValueError: the output is incomplete or damaged
            process.kill()
            process.communicate()

    def get_result(self) -> FaultsByFile | None:
        """Return the faults, after :meth:`close`; None if the execution could not be watched."""
        return self._faults


def parse_faults_by_file(output: bytes) -> FaultsByFile:
    """Parse the output of ``faults_by_file``: its counts, the names of hidden programs, then the files.

    Each entry ends with a NUL, the only character that names cannot contain.

    Raises
    ------
    ValueError
        If the output is incomplete or malformed.
    """
    head, *rows = output.removesuffix(b"\0").split(b"\0")
    counts_kernel, n_lost, total, in_kernel, hidden_count = map(int, head.split())
    if not output.endswith(b"\0") or len(rows) < hidden_count:
        raise ValueError("the output is cut off")
    names, rows = rows[:hidden_count], rows[hidden_count:]
    files = []
    for row in rows:
        faults, major, minor, inode, name = row.split(b" ", 4)
        path = name.decode(errors="surrogateescape")
        if path.startswith("/") and not path.startswith(_NON_FILE_PREFIXES):
            files.append(FileFaults(path, (int(major), int(minor)), int(inode), int(faults)))
    hidden_programs = tuple(name.decode(errors="replace") for name in names)
    return FaultsByFile(total, in_kernel if counts_kernel else None, n_lost, tuple(files), hidden_programs)
