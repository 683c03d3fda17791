"""Attaches perf record to a running program, enabled and disabled on command like the counters."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from runner.perf.attached_perf import ControlledPerf
from runner.perf.perf_binary import has_record_option
from runner.perf.private_mounts import build_recording_prefix

_MAX_RECORDING_SIZE = "1G"
"""The size at which perf stops a recording and reports this. Without it, a program could produce events without end."""
_FINISH_SECONDS = 30.0
"""Seconds within which perf must write the rest of a recording."""
_BUFFER_BYTES = 32 << 20
"""The size of each CPU's buffer, for half a million fault records, if the user may lock that much memory."""
_MAX_MEMORY_SHARE = 1 / 32
"""The buffers of all CPUs together may be larger if they take at most this share of the memory."""


class RecordPlan(Struct, frozen=True):
    """What one process of perf records.

    Attributes
    ----------
    options
        The options of perf record: the events, their period, their fields.
    output
        The file that perf writes; the content is untrusted.
    expected_bytes
        The expected size of the recording; 0 if unknown. Records that come faster than perf writes them are lost,
        unless the buffers hold all of them.
    """

    options: tuple[str, ...]
    output: Path
    expected_bytes: int = 0


class Tracer(Protocol):
    """A tool other than perf that traces a program from before its start to its end."""

    def attach(self, processes: Sequence[int]) -> None:
        """Attach to processes, which do not start before this method returns."""

    def close(self) -> None:
        """Wait until the tool has noticed the end of the processes."""


class Follower(Protocol):
    """A program that starts another program and traces it."""

    inherited_descriptors: tuple[int, ...]
    """The descriptors that the program needs."""

    def wrap_command(self, command: Sequence[str]) -> list[str]:
        """Return the command line that starts and traces a command."""


class Recording(Struct, frozen=True):
    """What to record during one execution.

    Attributes
    ----------
    variables
        The environment variables of the program, instead of those of its case; None for those of the case.
    """

    plans: tuple[RecordPlan, ...]
    tracers: tuple[Tracer, ...] = ()
    follower: Follower | None = None
    variables: Mapping[str, str] | None = None


class Recorder(ControlledPerf):
    """An attached perf record."""

    def __init__(
        self,
        plan: RecordPlan,
        processes: Sequence[int],
        inherited_descriptors: Sequence[int] = (),
        before_execution: Callable[[], None] | None = None,
        are_threads: bool = False,
    ) -> None:
        """Start perf record with the options of a plan; for the other parameters, see :class:`ControlledPerf`."""
        # -N and -B: no build ids and no cache of them, for which perf would read every binary again at the end.
        command = ["record", "-q", "-N", "-B", "--max-size", _MAX_RECORDING_SIZE]
        # perf otherwise watches which BPF programs are loaded, in a thread that notices the end after up to a second.
        if has_record_option("--no-bpf-event"):
            command.append("--no-bpf-event")
        command += [*_list_buffer_options(plan.expected_bytes), *plan.options, "-o", str(plan.output)]
        super().__init__(
            command,
            processes,
            inherited_descriptors,
            prefix=build_recording_prefix(),
            before_execution=before_execution,
            are_threads=are_threads,
        )

    def finish(self) -> None:
        """Tell perf to write the rest of its recording, and wait until it has."""
        self.end(timeout=_FINISH_SECONDS)


def _list_buffer_options(expected_bytes: int) -> tuple[str, ...]:
    """Return the option for large buffers; none for other users than root, whose locked memory the kernel limits."""
    if os.geteuid() != 0:
        return ()
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return ("-m", str(compute_buffer_pages(expected_bytes, memory_bytes, os.cpu_count() or 1)))


def compute_buffer_pages(expected_bytes: int, memory_bytes: int, n_cpus: int) -> int:
    """Return the pages of each CPU's buffer, a power of two, for a recording of an expected size.

    Parameters
    ----------
    memory_bytes
        The memory of the host.
    """
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    max_bytes = max(_BUFFER_BYTES, int(memory_bytes * _MAX_MEMORY_SHARE / n_cpus))
    n_bytes = _BUFFER_BYTES
    while n_bytes < expected_bytes and 2 * n_bytes <= max_bytes:
        n_bytes *= 2
    return max(1, n_bytes // page_bytes)
