"""Observes live processes: shows their figures every second while they are recorded, and makes a profile at the end."""

import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Sequence
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
from runner.attach.observed_profile import Observation
from runner.attach.process_choice import Choice
from runner.attach.process_table import find_descendants, read_process_table
from runner.profile.permissions import RecordingPermissions
from runner.profile.recording_plan import CallGraph
from runner.system.processes import get_start_ticks
from runner.system.tree import Tree

_LOOK_SECONDS = 0.1
"""How often threads are looked at, whether they wait."""
_OWN = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


class LiveLine(Struct, frozen=True):
    """What the last second showed.

    Attributes
    ----------
    elapsed
        Seconds since the beginning.
    cost
        The share of their CPU time that recording has cost the processes so far.
    own_share
        The share of the host's processors that this command and perf have used so far.
    """

    elapsed: float
    interval: Interval
    cost: float
    own_share: float


class ObservedProcesses:
    """The processes of a choice, with those that they start; processes that have ended are left out."""

    def __init__(self, choice: Choice, tree: Tree) -> None:
        self._choice = choice
        self._tree = tree
        self._started = {pid: get_start_ticks(pid) for pid in choice.pids}
        self._pids: Sequence[int] = choice.pids

    def refresh(self) -> None:
        """Look for processes that were started meanwhile."""
        table = read_process_table(self._tree)
        alive = [pid for pid in self._started if pid in table and table[pid].started == self._started[pid]]
        family = dict.fromkeys(pid for root in alive for pid in find_descendants(table, root))
        family.pop(os.getpid(), None)
        self._started.update({pid: table[pid].started for pid in family if pid not in self._started})
        self._pids = tuple(family)

    def list_pids(self) -> Sequence[int]:
        """Return the processes, as they were at the last look."""
        return self._pids

    def list_living(self) -> Sequence[int]:
        """Return those that still live."""
        return [pid for pid in self._pids if self._tree.read_text(f"proc/{pid}/stat")]


class Outcome(Struct, frozen=True):
    """An observation that has ended.

    Attributes
    ----------
    reason
        Why it ended early; empty if it did not.
    cost
        The share of their CPU time that recording cost the processes.
    own_share
        The share of the host's processors that this command and perf used.
    """

    observation: Observation
    recordings: Recordings
    reason: str
    cost: float
    own_share: float


def observe_processes(
    choice: Choice,
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
    show
        Called every second with what it showed.
    """
    tree = Tree()
    processes = ObservedProcesses(choice, tree)
    started_at, began = datetime.now(UTC), time.monotonic()
    processors = os.cpu_count() or 1

    def read() -> Figures:
        return read_figures(tree, processes.list_pids())

    recording = LiveRecording(
        processes.list_living,
        read,
        seconds=seconds,
        max_overhead=max_overhead,
        call_graph=call_graph,
        permissions=permissions,
    )
    first = last = read()
    last_time, waits, all_waits, reason = began, Waits(), Waits(), ""
    own_before = _read_own_seconds()
    try:
        with catch_interrupt() as interrupted:
            recording.start()
            while not reason and recording.is_running():
                time.sleep(_LOOK_SECONDS)
                waits = waits.add(sample_waits(tree, processes.list_pids()))
                now = time.monotonic()
                if now >= last_time + 1:
                    processes.refresh()
                    current = read()
                    if current.processes:
                        interval = compute_interval(last, current, now - last_time, waits)
                        cost = _compute_share(recording.cost_seconds, current.cpu - first.cpu)
                        own_seconds = _read_own_seconds() - own_before
                        show(LiveLine(now - began, interval, cost, own_seconds / (processors * (now - began))))
                        last, last_time, all_waits, waits = current, now, all_waits.add(waits), Waits()
                if not processes.list_living():
                    reason = "the process ended"
                elif interrupted():
                    reason = "stopped by Ctrl-C"
            ended, finished_at = time.monotonic(), datetime.now(UTC)
            current = read() if not reason.startswith("the process") else last
            recordings = recording.finish()
    except BaseException:
        recording.close()
        recording.recordings.close()
        raise
    used = compute_interval(first, current, ended - began, all_waits.add(waits))
    own_seconds = _read_own_seconds() - own_before
    return Outcome(
        Observation(program, host, used, _count_processors(choice.root.pid), started_at, finished_at, call_graph),
        recordings,
        reason,
        _compute_share(recording.cost_seconds, used.used.cpu),
        own_seconds / (processors * max(0.001, ended - began)),
    )


@contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """Keep Ctrl-C from ending the command while the context lasts; yield what says whether it was pressed."""
    pressed: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pressed.append(number)

    earlier = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, earlier)


def _compute_share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _read_own_seconds() -> float:
    """Return the CPU time of this process, and of its children that have ended: of perf."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, _OWN))


def _count_processors(pid: int) -> int:
    """Return on how many processors a process may run."""
    try:
        return len(os.sched_getaffinity(pid))
    except OSError:
        return os.cpu_count() or 1
