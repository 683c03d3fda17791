"""Observes live processes: records them in the background, and shows their figures every second."""

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType

from msgspec import Struct

from runner.attach.background_recording import LiveRecording, Recordings
from runner.attach.live_figures import (
    Figures,
    Interval,
    Waits,
    compute_interval,
    read_figures,
    sample_waits,
)
from runner.attach.live_program import LiveProgram
from runner.attach.observed_processes import ObservedProcesses
from runner.attach.observed_profile import Observation
from runner.attach.process_choice import ProcessChoice
from runner.profile.perf_record_options import CallGraph
from runner.profile.permissions import RecordingPermissions
from runner.system.tree import Tree

_MIN_POLL_SECONDS, _MAX_POLL_SECONDS = 0.1, 0.5
"""Limits of the seconds between two samples of what threads wait for. A sample of more threads takes longer."""
_MAX_POLL_SHARE = 0.01
"""The largest share of a processor that these samples may use."""
_MIN_ELAPSED_SECONDS = 0.001
"""The shortest duration that is assumed for an observation, so that no share is divided by zero."""
_OWN_USAGES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


class LiveLine(Struct, frozen=True):
    """What the last second showed.

    Attributes
    ----------
    elapsed
        Seconds since the start of the observation.
    cost
        The share of the processes' CPU time that recording has cost so far.
    own_share
        The share of the host's processors that this command and perf have used so far.
    """

    elapsed: float
    interval: Interval
    cost: float
    own_share: float


class Outcome(Struct, frozen=True):
    """An observation that has ended.

    Attributes
    ----------
    reason
        Why it ended early; empty if it lasted the whole time.
    cost
        The share of the processes' CPU time that recording cost.
    own_share
        The share of the host's processors that this command and perf used.
    """

    observation: Observation
    recordings: Recordings
    reason: str
    cost: float
    own_share: float


def observe_processes(
    choice: ProcessChoice,
    program: LiveProgram,
    *,
    host: str,
    seconds: float,
    max_overhead: float,
    call_graph: CallGraph,
    permissions: RecordingPermissions,
    show: Callable[[LiveLine], None],
) -> Outcome:
    """Observe processes for some time, or until they end or Ctrl-C is pressed.

    Parameters
    ----------
    host
        The name of this host.
    seconds
        How long to observe.
    max_overhead
        The largest share of the processes' CPU time that recording may cost.
    permissions
        What this user can record.
    show
        Called every second with the figures of that second.

    Returns
    -------
    Outcome
        With recordings that the caller has to close. What could not be recorded is among their problems.
    """
    tree = Tree()
    processes = ObservedProcesses(choice, tree)
    started_at, start_time = datetime.now(UTC), time.monotonic()
    n_processors = os.cpu_count() or 1

    def read_now() -> Figures:
        return read_figures(tree, processes.list_pids())

    recording = LiveRecording(
        processes.list_living_processes,
        read_now,
        seconds=seconds,
        max_overhead=max_overhead,
        call_graph=call_graph,
        permissions=permissions,
    )
    first_figures = last_figures = read_now()
    last_time = start_time
    waits = all_waits = Waits()  # The waits since the last line, and those before it.
    poll_seconds = _MIN_POLL_SECONDS
    reason, have_ended = "", False
    own_seconds_before = _read_own_seconds()
    try:
        with catch_interrupt() as interrupted:
            recording.start()
            while not reason and recording.is_running():
                time.sleep(poll_seconds)
                poll_start = time.thread_time()
                waits = waits.add(sample_waits(tree, processes.list_pids()))
                # Sample the waits less often if that would take more than a small share of the time.
                poll_cost = time.thread_time() - poll_start
                poll_seconds = min(max(_MIN_POLL_SECONDS, poll_cost / _MAX_POLL_SHARE), _MAX_POLL_SECONDS)
                now = time.monotonic()
                if now >= last_time + 1:
                    processes.refresh()
                    current_figures = read_now()
                    if current_figures.processes:
                        last_interval = compute_interval(last_figures, current_figures, now - last_time, waits)
                        cost = _compute_share(recording.cost_seconds, current_figures.cpu - first_figures.cpu)
                        own_seconds = _read_own_seconds() - own_seconds_before
                        elapsed = now - start_time
                        own_share = own_seconds / (n_processors * elapsed)
                        show(LiveLine(elapsed, last_interval, cost, own_share))
                        last_figures, last_time = current_figures, now
                        all_waits, waits = all_waits.add(waits), Waits()
                if processes.have_ended():
                    reason, have_ended = "the process ended", True
                elif interrupted():
                    reason = "stopped by Ctrl-C"
            end_time, finished_at = time.monotonic(), datetime.now(UTC)
            # Ended processes no longer have figures.
            current_figures = last_figures if have_ended else read_now()
            recordings = recording.finish()
    except BaseException:
        recording.close()
        recording.recordings.close()
        raise
    interval = compute_interval(first_figures, current_figures, end_time - start_time, all_waits.add(waits))
    own_seconds = _read_own_seconds() - own_seconds_before
    observed_seconds = max(_MIN_ELAPSED_SECONDS, end_time - start_time)
    return Outcome(
        Observation(
            program=program,
            host=host,
            interval=interval,
            pids=processes.list_all_pids(),
            processors=_count_processors(choice.root.pid),
            started_at=started_at,
            finished_at=finished_at,
            call_graph=call_graph,
        ),
        recordings,
        reason,
        cost=_compute_share(recording.cost_seconds, interval.used_figures.cpu),
        own_share=own_seconds / (n_processors * observed_seconds),
    )


@contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """Keep Ctrl-C from ending the command within the context; yield a function that returns whether it was pressed."""
    received_signals: list[int] = []

    def remember_signal(number: int, _frame: FrameType | None) -> None:
        received_signals.append(number)

    previous_handler = signal.signal(signal.SIGINT, remember_signal)
    try:
        yield lambda: bool(received_signals)
    finally:
        signal.signal(signal.SIGINT, previous_handler)


def _compute_share(part: float, total: float) -> float:
    return part / total if total > 0 else 0.0


def _read_own_seconds() -> float:
    """Return the CPU time in seconds of this process and its ended children, which are those of perf."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, _OWN_USAGES))


def _count_processors(pid: int) -> int:
    """Return the number of processors that a process may run on."""
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return os.cpu_count() or 1
