"""Records running processes with perf into files without a name, so that nothing stays, however this process ends."""

import ctypes
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from runner.perf.attached_perf import AttachError
from runner.perf.recording import Recorder, RecordPlan
from runner.system.tree import Tree

_BUFFER_PAGES = 512
"""Pages of each processor's buffer: two MiB, on a host that works for others."""
_MAX_BYTES = "512M"
_ATTEMPTS = 3
_NICENESS = 19
_SET_DEATH_SIGNAL = 1
_libc = ctypes.CDLL(None, use_errno=True)


class LiveRecorder:
    """A perf record of running processes, which ends with this process and works at the lowest priority."""

    def __init__(self, options: Sequence[str], list_pids: Callable[[], Sequence[int]]) -> None:
        """Attach perf, disabled.

        Raises
        ------
        AttachError
            perf cannot attach; the message says why.
        """
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="faultwatch-")  # noqa: SIM115 - closed by close()
        self._recorder: Recorder | None = None
        self.cpu_seconds = 0.0
        try:
            self._recorder = self._attach(options, list_pids)
        except BaseException:
            self._file.close()
            raise

    @property
    def path(self) -> Path:
        """The recording, for this process and for those that inherit its descriptor."""
        return Path(f"/proc/self/fd/{self._file.fileno()}")

    @property
    def descriptor(self) -> int:
        """The descriptor of the recording."""
        return self._file.fileno()

    @property
    def size(self) -> int:
        """Bytes of the recording."""
        return os.fstat(self._file.fileno()).st_size

    def enable(self) -> None:
        """Begin to record.

        Raises
        ------
        AttachError
            perf does not answer, as when the processes have ended.
        """
        if self._recorder:
            self._recorder.send_command("enable")

    def finish(self) -> None:
        """Stop recording, and wait until perf has written everything."""
        if self._recorder:
            with suppress(AttachError):
                self._recorder.send_command("disable")
            self.cpu_seconds = read_cpu_seconds(self._recorder.pid) or self.cpu_seconds
            self._recorder.finish()
            self._recorder.close()
            self._recorder = None

    def close(self) -> None:
        """End perf, and give up the recording."""
        if self._recorder:
            self._recorder.close()
            self._recorder = None
        self._file.close()

    def _attach(self, options: Sequence[str], list_pids: Callable[[], Sequence[int]]) -> Recorder:
        """Attach perf; a thread that ends meanwhile is a reason to try again."""
        buffers = ("-m", str(_BUFFER_PAGES)) if os.geteuid() == 0 else ()
        for attempt in range(1, _ATTEMPTS + 1):
            own = os.dup(self._file.fileno())
            plan = RecordPlan((*buffers, "--max-size", _MAX_BYTES, *options), Path(f"/proc/self/fd/{own}"))
            recorder = Recorder(plan, list_pids(), [own], make_guard())
            try:
                recorder.send_command("disable")  # It is disabled; the answer shows that perf has attached.
            except AttachError:
                recorder.close()
                if attempt == _ATTEMPTS or not list_pids():
                    raise
            except BaseException:
                recorder.close()
                raise
            else:
                return recorder
        raise AttachError("its processes end faster than perf can attach to them")


def make_guard() -> Callable[[], None]:
    """Return what a child does before it becomes another program: it ends with this process, and yields to others."""
    parent = os.getpid()

    def guard() -> None:
        os.setsid()  # Ctrl-C is for this process, which then ends its children in order.
        _libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # It has ended in between.
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)

    return guard


def read_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process; 0 if it has ended."""
    fields = (Tree().read_text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0.0
