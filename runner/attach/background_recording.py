"""Records a live process in the background: first each fault with its address, then thin stacks."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from runner.attach.live_figures import Figures, compute_interval, list_stable_threads
from runner.attach.live_program import read_guards
from runner.attach.live_recorder import LiveRecorder
from runner.attach.recording_budget import (
    SECONDS_PER_FAULT,
    SECONDS_PER_STACK,
    SECONDS_PER_SWITCH,
    Rates,
    RecordingBudget,
    compute_counting_seconds,
    plan_recording,
)
from runner.perf.attached_perf import AttachError
from runner.profile.permissions import RecordingPermissions
from runner.profile.recording_plan import CallGraph, build_faults_options, build_sampled_faults_options
from runner.profile.script_parser import Mapped
from runner.system.tree import Tree

_POLL_SECONDS = 0.05
"""Seconds between two checks of the number of recorded faults."""
_MAX_SAMPLED_RECORDS_FACTOR = 2
"""The recording of sampled faults ends once it has this many times as many records as that of each fault may have."""
_MIN_CPU_SECONDS = 0.001
"""The CPU time of a process that hardly ran while it was counted: it can work later, and has to have a budget then."""
_MIN_SECONDS = 0.02
"""A shorter time is not recorded."""


class TimedRecording(Struct):
    """A recording, and what the processes used meanwhile."""

    recorder: LiveRecorder
    seconds: float
    used_figures: Figures
    guards: tuple[Mapped, ...] = ()
    """The guards below the stacks of threads: perf does not record those of processes that are older than it."""


class Recordings(Struct):
    """Everything that was recorded of live processes.

    Attributes
    ----------
    addresses
        Each fault with its address, and the calls that map and return memory.
    sampled_recording
        Some faults with their addresses, and all of these calls, for longer.
    stacks
        Stacks of some faults, and of the CPU time.
    switches
        Threads as they leave and enter processors.
    problems
        Why something was not recorded.
    """

    budget: RecordingBudget | None = None
    addresses: TimedRecording | None = None
    sampled_recording: TimedRecording | None = None
    stacks: TimedRecording | None = None
    switches: TimedRecording | None = None
    problems: list[str] = field(default_factory=list)

    def close(self) -> None:
        """End what still records, and give up the recordings."""
        for timed_recording in (self.addresses, self.sampled_recording, self.stacks, self.switches):
            if timed_recording:
                timed_recording.recorder.close()


class LiveRecording:
    """Records processes for some time, once perf has attached, in a thread of its own.

    Attributes
    ----------
    stop
        Set it to end early.
    """

    def __init__(
        self,
        list_pids: Callable[[], Sequence[int]],
        read_figures: Callable[[], Figures],
        *,
        seconds: float,
        max_overhead: float,
        call_graph: CallGraph,
        permissions: RecordingPermissions,
    ) -> None:
        self.stop = threading.Event()
        self.recordings = Recordings()
        self.cost_seconds = 0.0
        """The CPU time that recording has cost the processes so far, estimated from the number of records."""
        self._list_pids = list_pids
        self._read_figures = read_figures
        self._seconds = seconds
        self._max_overhead = max_overhead
        self._call_graph = call_graph
        self._permissions = permissions
        self._recorders: list[LiveRecorder] = []
        self._thread = threading.Thread(target=self._record_guarded, name="recording", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def finish(self) -> Recordings:
        """End, and return what was recorded."""
        self.stop.set()
        self._thread.join()
        return self.recordings

    def is_running(self) -> bool:
        """Return whether it still records, or perf still attaches, which takes longer on a busy host."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End without results."""
        self.stop.set()
        self._thread.join()
        for recorder in self._recorders:
            recorder.close()

    def _record_guarded(self) -> None:
        """Record; a perf that cannot attach, or no longer answers, is a remark and not the end."""
        try:
            self._record()
        except AttachError as error:
            self.recordings.problems.append(str(error))

    def _record(self) -> None:
        """Count for a while, plan the recordings by the rates, and make one after the other until the time is over."""
        started_at, before = time.monotonic(), self._read_figures()
        if self.stop.wait(compute_counting_seconds(self._seconds)):
            return
        rates = _compute_rates(before, self._read_figures(), time.monotonic() - started_at)
        seconds = self._seconds - compute_counting_seconds(self._seconds)
        budget = plan_recording(rates, seconds, self._max_overhead, self._call_graph)
        self.recordings.budget = budget
        addresses, sampled_addresses, stacks, switches = self._attach(budget)
        deadline = time.monotonic() + seconds
        if addresses and not self.stop.is_set():
            end = min(time.monotonic() + budget.address_seconds, deadline)
            self.recordings.addresses = self._record_addresses(addresses, end, budget.max_faults)
        if sampled_addresses and not self.stop.is_set():
            end = min(time.monotonic() + budget.sampled_seconds, deadline)
            max_faults = _MAX_SAMPLED_RECORDS_FACTOR * budget.max_faults * budget.sampled_period
            self.recordings.sampled_recording = self._record_addresses(
                sampled_addresses, end, max_faults, budget.sampled_period
            )
        if not self.stop.is_set():
            self._record_stacks(stacks, switches, budget, deadline)

    def _attach(
        self, budget: RecordingBudget
    ) -> tuple[LiveRecorder | None, LiveRecorder | None, LiveRecorder, LiveRecorder | None]:
        """Attach a perf for addresses, for stacks and for switches, as far as they are affordable and allowed.

        All at once, because each takes long to start.
        """
        permissions = self._permissions
        options = build_faults_options(1, tracepoints=permissions.tracepoints, error_codes=permissions.error_codes)
        graph = "dwarf,8192" if self._call_graph == "dwarf" else self._call_graph
        call_graph = ("--call-graph", graph)
        faults = f"page-faults/period={budget.fault_period},name=page-faults/"
        clock = f"cpu-clock/period={budget.clock_period},name=cpu-clock/"
        stacks = self._start(("-e", faults, "-e", clock, *call_graph))
        addresses = self._start(options) if budget.address_seconds >= _MIN_SECONDS else None
        sampled_addresses = None
        if budget.sampled_seconds and permissions.tracepoints:
            sampled_addresses = self._start(build_sampled_faults_options(budget.sampled_period))
        switches = None
        if budget.switch_seconds >= _MIN_SECONDS and permissions.kernel:
            words = ("-e", "context-switches", "-c", str(budget.switch_period), *call_graph, "--switch-events")
            switches = self._start(words)
        for recorder in (stacks, addresses, sampled_addresses, switches):
            if recorder:
                recorder.wait()
        return addresses, sampled_addresses, stacks, switches

    def _record_addresses(self, recorder: LiveRecorder, end: float, max_faults: int, period: int = 1) -> TimedRecording:
        """Record one in ``period`` faults with its address until ``end``, or until ``max_faults`` have happened.

        ``end`` is a monotonic time.
        """
        guards = tuple(guard for pid in self._list_pids() for guard in read_guards(Tree(), pid))
        recorder.enable()
        started_at, before = time.monotonic(), self._read_figures()
        used_figures = Figures()
        while time.monotonic() < end and used_figures.faults < max_faults:
            if self.stop.wait(min(_POLL_SECONDS, max(0.0, end - time.monotonic()))):
                break
            used_figures = _subtract_figures(self._read_figures(), before)
        timed_recording = self._finish_recorder(
            recorder, started_at, before, lambda used_figures: used_figures.faults * SECONDS_PER_FAULT / period
        )
        return replace(timed_recording, guards=guards)

    def _record_stacks(
        self, stacks: LiveRecorder, switches: LiveRecorder | None, budget: RecordingBudget, deadline: float
    ) -> None:
        """Record stacks of some faults and of CPU time until the end, and switches for a part of the time."""
        for recorder in (stacks, switches):
            if recorder:
                recorder.enable()
        started_at, before = time.monotonic(), self._read_figures()
        stack_seconds = SECONDS_PER_STACK[self._call_graph]
        if switches:
            self.stop.wait(max(0.0, min(budget.switch_seconds, deadline - started_at)))
            self.recordings.switches = self._finish_recorder(
                switches,
                started_at,
                before,
                lambda used_figures: (
                    used_figures.switches * (SECONDS_PER_SWITCH + stack_seconds / budget.switch_period)
                ),
            )
        self.stop.wait(max(0.0, deadline - time.monotonic()))
        self.recordings.stacks = self._finish_recorder(
            stacks,
            started_at,
            before,
            lambda used_figures: (
                stack_seconds
                * (used_figures.faults / budget.fault_period + used_figures.cpu * 1e9 / budget.clock_period)
            ),
        )

    def _start(self, options: Sequence[str]) -> LiveRecorder:
        recorder = LiveRecorder(options, lambda: list_stable_threads(Tree(), self._list_pids()))
        self._recorders.append(recorder)
        return recorder

    def _finish_recorder(
        self, recorder: LiveRecorder, started_at: float, before: Figures, compute_cost: Callable[[Figures], float]
    ) -> TimedRecording:
        """End one perf, and add what it cost, as ``compute_cost`` estimates from what the processes used meanwhile."""
        after, seconds = self._read_figures(), time.monotonic() - started_at
        with suppress(AttachError):  # What was recorded before the processes ended can still be read.
            recorder.finish()
        used_figures = _subtract_figures(after, before)
        self.cost_seconds += compute_cost(used_figures)
        return TimedRecording(recorder, seconds, used_figures)


def _compute_rates(before: Figures, after: Figures, seconds: float) -> Rates:
    """Return what was used per second between two readings."""
    used_figures = _subtract_figures(after, before)
    cpu_seconds = max(used_figures.cpu, _MIN_CPU_SECONDS)
    return Rates(used_figures.faults / seconds, used_figures.switches / seconds, cpu_seconds / seconds)


def _subtract_figures(after: Figures, before: Figures) -> Figures:
    """Return what was used between two readings."""
    return compute_interval(before, after, 1.0).used_figures
