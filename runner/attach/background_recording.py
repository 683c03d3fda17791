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

_LOOK_SECONDS = 0.05
"""How often the number of recorded faults is looked at."""
_MIN_SECONDS = 0.02
"""Of less time nothing is recorded."""


class Stretch(Struct):
    """A recording, and what the processes used meanwhile."""

    recorder: LiveRecorder
    seconds: float
    used: Figures
    before: Figures
    guards: tuple[Mapped, ...] = ()
    """What keeps addresses free below the stacks of threads, which perf does not record of older processes."""


class Recordings(Struct):
    """Everything that was recorded of live processes.

    Attributes
    ----------
    addresses
        Each fault with its address, and the calls that map and return memory.
    sampled
        Some faults with their addresses, and all of these calls, for longer.
    stacks
        Stacks of some faults, and of the CPU time.
    switches
        Threads as they leave and enter processors.
    problems
        Why something was not recorded.
    """

    budget: RecordingBudget | None = None
    addresses: Stretch | None = None
    sampled: Stretch | None = None
    stacks: Stretch | None = None
    switches: Stretch | None = None
    problems: list[str] = field(default_factory=list)

    def close(self) -> None:
        """End what still records, and give up the recordings."""
        for stretch in (self.addresses, self.sampled, self.stacks, self.switches):
            if stretch:
                stretch.recorder.close()


class LiveRecording:
    """Records processes for some time, from when perf has attached. It works in a thread, beside the one that shows.

    Attributes
    ----------
    stop
        Set it to end early.
    """

    def __init__(
        self,
        list_pids: Callable[[], Sequence[int]],
        read: Callable[[], Figures],
        *,
        seconds: float,
        max_overhead: float,
        call_graph: CallGraph,
        permissions: RecordingPermissions,
    ) -> None:
        self.stop = threading.Event()
        self.recordings = Recordings()
        self.cost_seconds = 0.0
        """What recording has cost the processes so far, by the number of records."""
        self._list_pids = list_pids
        self._read = read
        self._seconds = seconds
        self._max_overhead = max_overhead
        self._call_graph = call_graph
        self._permissions = permissions
        self._open: list[LiveRecorder] = []
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
        for recorder in self._open:
            recorder.close()

    def _record_guarded(self) -> None:
        """Record; a perf that cannot attach, or no longer answers, is a remark and not the end."""
        try:
            self._record()
        except AttachError as error:
            self.recordings.problems.append(str(error))

    def _record(self) -> None:
        began, before = time.monotonic(), self._read()
        if self.stop.wait(compute_counting_seconds(self._seconds)):
            return
        rates = _compute_rates(before, self._read(), time.monotonic() - began)
        seconds = self._seconds - compute_counting_seconds(self._seconds)
        budget = plan_recording(rates, seconds, self._max_overhead, self._call_graph)
        self.recordings.budget = budget
        addresses, sampled, stacks, switches = self._attach(budget)
        deadline = time.monotonic() + seconds
        if addresses and not self.stop.is_set():
            end = min(time.monotonic() + budget.address_seconds, deadline)
            self.recordings.addresses = self._record_addresses(addresses, end, budget.max_faults)
        if sampled and not self.stop.is_set():
            end = min(time.monotonic() + budget.sampled_seconds, deadline)
            self.recordings.sampled = self._record_addresses(
                sampled, end, 2 * budget.max_faults * budget.sampled_period, budget.sampled_period
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
        sampled = None
        if budget.sampled_seconds and permissions.tracepoints:
            sampled = self._start(build_sampled_faults_options(budget.sampled_period))
        switches = None
        if budget.switch_seconds >= _MIN_SECONDS and permissions.kernel:
            words = ("-e", "context-switches", "-c", str(budget.switch_period), *call_graph, "--switch-events")
            switches = self._start(words)
        for recorder in (stacks, addresses, sampled, switches):
            if recorder:
                recorder.wait()
        return addresses, sampled, stacks, switches

    def _record_addresses(self, recorder: LiveRecorder, end: float, max_faults: int, period: int = 1) -> Stretch:
        """Record one in some faults with its address until a moment, or until so many faults have happened."""
        guards = tuple(guard for pid in self._list_pids() for guard in read_guards(Tree(), pid))
        recorder.enable()
        began, before = time.monotonic(), self._read()
        used = Figures()
        while time.monotonic() < end and used.faults < max_faults:
            if self.stop.wait(min(_LOOK_SECONDS, max(0.0, end - time.monotonic()))):
                break
            used = _subtract_figures(self._read(), before)
        stretch = self._finish_stretch(recorder, began, before, lambda used: used.faults * SECONDS_PER_FAULT / period)
        return replace(stretch, guards=guards)

    def _record_stacks(
        self, stacks: LiveRecorder, switches: LiveRecorder | None, budget: RecordingBudget, deadline: float
    ) -> None:
        """Record stacks of some faults and of CPU time until the end, and switches for a part of the time."""
        for recorder in (stacks, switches):
            if recorder:
                recorder.enable()
        began, before = time.monotonic(), self._read()
        price = SECONDS_PER_STACK[self._call_graph]
        if switches:
            self.stop.wait(max(0.0, min(budget.switch_seconds, deadline - began)))
            self.recordings.switches = self._finish_stretch(
                switches,
                began,
                before,
                lambda used: used.switches * (SECONDS_PER_SWITCH + price / budget.switch_period),
            )
        self.stop.wait(max(0.0, deadline - time.monotonic()))
        self.recordings.stacks = self._finish_stretch(
            stacks,
            began,
            before,
            lambda used: price * (used.faults / budget.fault_period + used.cpu * 1e9 / budget.clock_period),
        )

    def _start(self, options: Sequence[str]) -> LiveRecorder:
        recorder = LiveRecorder(options, lambda: list_stable_threads(Tree(), self._list_pids()))
        self._open.append(recorder)
        return recorder

    def _finish_stretch(
        self, recorder: LiveRecorder, began: float, before: Figures, price: Callable[[Figures], float]
    ) -> Stretch:
        """End one perf, and add up what it cost."""
        after, seconds = self._read(), time.monotonic() - began
        with suppress(AttachError):
            recorder.finish()
        used = _subtract_figures(after, before)
        self.cost_seconds += price(used)
        return Stretch(recorder, seconds, used, before)


def _compute_rates(before: Figures, after: Figures, seconds: float) -> Rates:
    used = _subtract_figures(after, before)
    return Rates(used.faults / seconds, used.switches / seconds, max(used.cpu, 0.001) / seconds)


def _subtract_figures(after: Figures, before: Figures) -> Figures:
    """Return what was used between two readings."""
    return compute_interval(before, after, 1.0).used
