"""Records running processes with perf into unnamed files, which the kernel removes however this process ends."""

import ctypes
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from runner.perf.attached_perf import AttachError
from runner.perf.attached_recorder import Recorder, RecordPlan

_BUFFER_PAGES = 512
"""Pages of each processor's buffer: 2 MiB, to save memory on a host that has other work to do."""
_MAX_BYTES = "512M"
"""The size at which perf stops a recording, which takes space among the observed host's temporary files."""
_MAX_ATTEMPTS = 8
"""How many attempts to attach are made. perf fails if a thread, such as that of a connection, ends meanwhile."""
_NICENESS = 19
"""The nice value with the lowest priority."""
_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2): the signal that a process gets when its parent ends."""
_libc = ctypes.CDLL(None, use_errno=True)


class LiveRecorder:
    """A ``perf record`` of running processes, which ends with this process, and runs at the lowest priority."""

    def __init__(
        self,
        options: Sequence[str],
        list_threads: Callable[[], Sequence[int]] | None,
        buffer_pages: int = _BUFFER_PAGES,
    ) -> None:
        """Start perf without recording yet; :meth:`wait_until_attached` waits until it has attached.

        Parameters
        ----------
        list_threads
            Returns the threads to record; threads that they start are recorded too. None to record the whole host.
        buffer_pages
            Pages of each processor's buffer.
        """
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="faultwatch-")  # noqa: SIM115 - closed by close()
        self._options = options
        self._buffer_pages = buffer_pages
        self._list_threads = list_threads
        self._recorder: Recorder | None = None
        try:
            self._start()
        except BaseException:
            self._file.close()
            raise

    @property
    def path(self) -> Path:
        """The path of the recording, valid in this process and in processes that inherit its descriptor."""
        return Path(f"/proc/self/fd/{self._file.fileno()}")

    @property
    def descriptor(self) -> int:
        """The file descriptor of the recording."""
        return self._file.fileno()

    @property
    def size(self) -> int:
        """The current size of the recording, in bytes."""
        return os.fstat(self._file.fileno()).st_size

    def wait_until_attached(self) -> None:
        """Wait until perf has attached, then lower its priority; try again if a thread has ended meanwhile.

        Raises
        ------
        AttachError
            perf cannot attach; the message says why.
        """
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            assert self._recorder is not None
            try:
                self._recorder.send_command("disable")  # perf starts disabled; the answer shows that it has attached.
            except AttachError:
                self._end_process()
                if attempt == _MAX_ATTEMPTS or self._list_threads is None or not self._list_threads():
                    raise
                self._start()
            else:
                # Lower the priority only now: the longer perf takes to attach, the likelier it fails because a thread
                # ends meanwhile.
                with suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, self._recorder.pid, _NICENESS)
                return

    def enable(self) -> None:
        """Begin to record, or continue after :meth:`disable`.

        Raises
        ------
        AttachError
            perf does not answer, as when the processes have ended.
        """
        if self._recorder:
            self._recorder.send_command("enable")

    def disable(self) -> None:
        """Pause the recording until :meth:`enable`.

        Raises
        ------
        AttachError
            perf does not answer, as when the processes have ended.
        """
        if self._recorder:
            self._recorder.send_command("disable")

    def stop(self) -> None:
        """Stop recording; perf then writes everything and detaches, which takes up to a second."""
        if self._recorder:
            with suppress(AttachError):
                self.disable()
            self._recorder.stop()

    def finish(self) -> None:
        """Stop recording, and wait until perf has written everything."""
        self.stop()
        if self._recorder:
            self._recorder.finish()
            self._end_process()

    def close(self) -> None:
        """End perf, and discard the recording."""
        self._end_process()
        self._file.close()

    def _end_process(self) -> None:
        if self._recorder:
            self._recorder.close()
            self._recorder = None

    def _start(self) -> None:
        """Start perf.

        Raises
        ------
        AttachError
            The processes have ended. Without threads, perf would record the whole host.
        """
        threads = self._list_threads() if self._list_threads else ()
        if self._list_threads and not threads:
            raise AttachError("the processes have ended")
        buffers = ("-m", str(self._buffer_pages)) if os.geteuid() == 0 else ()
        descriptor = os.dup(self._file.fileno())  # A duplicate, because the recorder closes its descriptor.
        # Without this option, perf would leave out the threads that the given threads start.
        scope = ("--inherit",) if self._list_threads else ()
        plan = RecordPlan(
            (*scope, *buffers, "--max-size", _MAX_BYTES, *self._options), Path(f"/proc/self/fd/{descriptor}")
        )
        self._recorder = Recorder(plan, threads, [descriptor], make_guard(), are_threads=True)


def make_guard() -> Callable[[], None]:
    """Return a function for a child to call before it executes a program, so that it ends with this process."""
    parent = os.getpid()

    def end_with_parent() -> None:
        os.setsid()  # Ctrl-C must reach only this process, which then ends its children in order.
        _libc.prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # The parent has ended before the death signal was set.

    return end_with_parent
