"""Records a live process in the background: first each fault with its address, then sampled stacks."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from runner.attach.live_figures import Figures, compute_interval
from runner.attach.live_program import read_guards
from runner.attach.live_recorder import LiveRecorder
from runner.attach.recording_budget import (
    BYTES_PER_CALL,
    SECONDS_PER_ATTACHED_SWITCH,
    SECONDS_PER_CALL,
    SECONDS_PER_FAULT,
    SECONDS_PER_STACK,
    SECONDS_PER_SWITCH,
    Rates,
    RecordingBudget,
    compute_counting_seconds,
    is_too_expensive,
    plan_recording,
    shorten_sampling,
)
from runner.attach.stable_threads import list_stable_threads
from runner.perf.attached_perf import AttachError
from runner.perf.perf_binary import has_record_option
from runner.profile.perf_record_options import CallGraph, build_live_calls_options, build_live_faults_options
from runner.profile.permissions import RecordingPermissions
from runner.profile.script_parser import Mapped
from runner.system.tree import Tree

_MIN_FAULTS_SECONDS = 0.5
"""Faults are recorded for at least this long, even if the recording of calls becomes too large."""
_LONG_POLL_SECONDS = 0.5
"""Seconds between two checks of how large the recording of calls is, and the longest time between two others."""
_COST_POLL_SECONDS = 0.1
"""Seconds between two checks of what a recording has cost."""
_MIN_POLL_SECONDS, _POLLS = 0.05, 40
"""The number of recorded faults is checked this many times during a recording, but not more often than once in so many
seconds: each check reads several files of each process."""
_CALL_BUFFER_PAGES = 64
"""Pages of each processor's buffer for calls. perf writes half a buffer at a time, so a small buffer keeps the size of
the file, which is checked, up to date."""
_MAX_SAMPLED_RECORDS_FACTOR = 2
"""The recording of sampled faults ends early once the faults, or the calls, exceed their limits by this factor."""
_MIN_SHARE_OF_TIME = 0.25
"""If faults are too many before this share of the planned time has passed, the processes are busier than planned. If
less than this share of the whole time is left, nothing is recorded again."""
_MIN_SAMPLED_FAULTS = 1000
"""If there are too many calls, faults are sampled until this many of them are recorded."""
_MAX_STACK_RECORDINGS = 4
"""Stacks are recorded in at most this many parts of the time, if they cannot be recorded all the time."""
_MIN_STACK_SECONDS = 0.025
"""A part is at least as long as this, in seconds."""
_MAX_PLANS = 4
"""How often the recordings are planned at most."""
_MIN_CPU_SECONDS = 0.001
"""The smallest CPU time that is assumed for a process while it is only counted: an idle process may become busy later,
and needs a budget then."""


class TimedRecording(Struct):
    """A recording with its duration, and what the processes used in this time.

    Attributes
    ----------
    period
        Of faults with their addresses, one in this many was recorded.
    guards
        The guard pages below the stacks of threads, which perf does not record for processes that it attaches to.
    """

    recorder: LiveRecorder
    seconds: float
    used_figures: Figures
    period: int = 1
    guards: tuple[Mapped, ...] = ()


class Recordings(Struct):
    """Everything that was recorded of live processes.

    Attributes
    ----------
    calls
        The calls of the whole host that map and return memory. A perf that is attached to a thread makes each context
        switch of the thread more expensive; a perf that records the whole host does not, and costs only the calls.
    addresses
        Each fault with its address, for a short time.
    sampled_recording
        A sample of the faults with their addresses, for a longer time.
    stacks
        Stacks of a sample of the faults, and of the CPU time: one recording, or several short ones.
    switches
        The context switches of the threads.
    problems
        Why something could not be recorded.
    """

    budget: RecordingBudget | None = None
    calls: TimedRecording | None = None
    addresses: TimedRecording | None = None
    sampled_recording: TimedRecording | None = None
    stacks: list[TimedRecording] = field(default_factory=list)
    switches: TimedRecording | None = None
    problems: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Stop the recordings that still run, and discard all of them."""
        for timed_recording in (self.calls, self.addresses, self.sampled_recording, *self.stacks, self.switches):
            if timed_recording:
                timed_recording.recorder.close()


class _RunningRecording(Struct):
    """A recording in progress, with its start (monotonic time) and what the processes had used by then.

    A pause moves both, as if the recording had begun later.
    """

    recorder: LiveRecorder
    started_at: float
    figures_before: Figures


class LiveRecording:
    """Records processes for some time, in a thread of its own.

    Attributes
    ----------
    stop
        Event that ends the recording early when it is set.
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
        """Prepare the recording.

        Parameters
        ----------
        list_pids
            Called repeatedly, because processes start and end meanwhile.
        max_overhead
            The largest share of the processes' time that recording may cost.
        """
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
        self._figures_before, self._started_at = read_figures(), time.monotonic()
        self._stack_cost = 0.0
        """The part of ``cost_seconds`` that is for stacks, since the last plan."""
        self._deadline = 0.0
        """The end of the observation (monotonic time)."""
        self._planned_cpu = 0.0
        """The CPU time in seconds that the processes use in the whole time, by the plan."""
        self._calls: _RunningRecording | None = None
        self._thread = threading.Thread(target=self._record_and_note_problems, name="recording", daemon=True)

    def start(self) -> None:
        """Begin to record in the background."""
        self._thread.start()

    def finish(self) -> Recordings:
        """Stop recording, and return what was recorded."""
        self.stop.set()
        self._thread.join()
        return self.recordings

    def is_running(self) -> bool:
        """Return whether the recording is in progress, including the time that perf takes to attach."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop recording, and discard the results."""
        self.stop.set()
        self._thread.join()
        for recorder in self._recorders:
            recorder.close()

    def _record_and_note_problems(self) -> None:
        """Record, and note a problem if a perf cannot attach or no longer answers; then end all recordings."""
        try:
            self._record()
        except AttachError as error:
            self.recordings.problems.append(str(error))
            self._stop_calls()
        for recorder in self._recorders:
            with suppress(AttachError):  # If the processes have ended, what was recorded before can still be read.
                recorder.finish()

    def _record(self) -> None:
        """Make the recordings in succession, as planned from the rates of the processes.

        If the processes turn out to be much busier than when they were counted, because they were idle or still
        started, the plan does not fit, and everything is done again in the time that is left.
        """
        self._deadline = deadline = time.monotonic() + self._seconds
        for n_plans_left in reversed(range(_MAX_PLANS)):
            budget = self._plan_recordings(deadline)
            if budget is None:
                return
            self._discard_recordings()
            self.recordings.budget = budget
            if self._record_events_in_succession(budget, deadline, may_repeat=n_plans_left > 0):
                self._wait(budget, deadline - budget.sampled_seconds - time.monotonic())
                self._record_sampled_faults(budget)
                # Even if faults had to be sampled early, the user asked for the figures of the whole time.
                self.stop.wait(max(0.0, deadline - time.monotonic()))
                return
            # What was recorded until now is the result if the observation ends before the next plan.
            self._stop_calls()

    def _plan_recordings(self, deadline: float) -> RecordingBudget | None:
        """Count for a while, and plan the recordings; return None if the observation ends first.

        A program may work in phases, so this period may show only one of them. Therefore the rates are those since the
        start if these are higher.
        """
        figures, started_at = self._read_figures(), time.monotonic()
        if self.stop.wait(compute_counting_seconds(self._seconds)):
            return None
        current_figures, now = self._read_figures(), time.monotonic()
        rates = _compute_rates(figures, current_figures, now - started_at)
        rates_since_start = _compute_rates(self._figures_before, current_figures, now - self._started_at)
        rates = replace(
            rates,
            faults=max(rates.faults, rates_since_start.faults),
            switches=max(rates.switches, rates_since_start.switches),
            cpu=max(rates.cpu, rates_since_start.cpu),
        )
        self._planned_cpu = rates.cpu * self._seconds
        return plan_recording(rates, deadline - time.monotonic(), self._max_overhead, self._call_graph)

    def _discard_recordings(self) -> None:
        """End and discard all recordings so far."""
        for recorder in self._recorders:
            recorder.close()
        self._recorders.clear()
        self.recordings = Recordings()
        self._stack_cost = 0.0

    def _record_events_in_succession(self, budget: RecordingBudget, deadline: float, *, may_repeat: bool) -> bool:
        """Record addresses, switches and stacks; return False if all of it is to be recorded again.

        That is so as soon as the processes are busier than planned, if it may be repeated and enough time is left.

        Each perf attaches only when its turn comes: an attached perf makes each context switch of a thread more
        expensive, even while it records nothing. Sampled faults come last, when most calls are known.
        """
        for record in (self._record_addresses, self._record_switches, self._record_stacks):
            is_as_planned = record(budget, deadline)
            has_time = deadline - time.monotonic() >= _MIN_SHARE_OF_TIME * self._seconds
            if not is_as_planned and may_repeat and has_time and not self.stop.is_set():
                return False
        return True

    def _record_addresses(self, budget: RecordingBudget, _deadline: float) -> bool:
        """Record each fault with its address for a short time; return False if they were soon too many."""
        self.recordings.addresses = recording = self._record_faults(
            period=1,
            seconds=budget.address_seconds,
            max_faults=budget.max_faults,
            max_call_bytes=budget.max_call_bytes,
        )
        if recording is None:
            return True
        is_short = recording.seconds < _MIN_SHARE_OF_TIME * budget.address_seconds
        return not (is_short and recording.used_figures.faults >= budget.max_faults)

    def _is_too_expensive(
        self, recording: _RunningRecording, compute_cost: Callable[[Figures], float], *kinds: str
    ) -> bool:
        """Return whether a recording of the given kinds costs too much for the CPU time that the processes use.

        That is what they were planned to use, or what they have used: they may become busier than planned.
        ``compute_cost`` estimates the cost from what they have used since the recording began.
        """
        current_figures = self._read_figures()
        cost_seconds = compute_cost(_subtract_figures(current_figures, recording.figures_before))
        used_seconds = _subtract_figures(current_figures, self._figures_before).cpu
        return is_too_expensive(cost_seconds, max(self._planned_cpu, used_seconds), self._max_overhead, *kinds)

    def _wait(
        self,
        budget: RecordingBudget,
        seconds: float,
        *,
        has_become_expensive: Callable[[], bool] | None = None,
        faults_recording: _RunningRecording | None = None,
    ) -> bool:
        """Wait for some seconds, or until the observation ends; sample faults early if calls become too many.

        The wait also ends once the recording in progress ``has_become_expensive``; only then return False.
        ``faults_recording`` already records page faults. It is paused while faults are sampled, and the wait becomes
        longer by this pause.
        """
        end = time.monotonic() + seconds
        poll_seconds = _LONG_POLL_SECONDS if has_become_expensive is None else _COST_POLL_SECONDS
        while not self.stop.wait(min(poll_seconds, max(0.0, end - time.monotonic()))):
            if has_become_expensive and has_become_expensive():
                return False
            if self._have_many_calls(budget.max_call_bytes):
                if faults_recording is None:
                    self._record_sampled_faults(budget)
                    continue
                end += self._sample_faults_in_pause(faults_recording, budget)
            if time.monotonic() >= end:
                break
        return True

    def _sample_faults_in_pause(self, faults_recording: _RunningRecording, budget: RecordingBudget) -> float:
        """Sample faults while another recording of page faults is paused; return how many seconds the pause took.

        If two events recorded the same fault, Linux would give the second record the identifier of the first event,
        because ``perf_prepare_sample`` keeps the fields that are filled in already; and perf script refuses an
        identifier of another perf's event.
        """
        figures_at_pause, paused_at = self._read_figures(), time.monotonic()
        used_before = _subtract_figures(figures_at_pause, faults_recording.figures_before)
        faults_recording.recorder.disable()
        self._record_sampled_faults(budget)
        faults_recording.recorder.enable()
        pause_seconds = time.monotonic() - paused_at
        faults_recording.started_at += pause_seconds
        figures_after_pause = self._read_figures()
        # The paused perf stays attached, so switches cost as much as without the pause.
        self._add_stack_cost(_subtract_figures(figures_after_pause, figures_at_pause).switches)
        faults_recording.figures_before = _subtract_figures(figures_after_pause, used_before)
        return pause_seconds

    def _record_sampled_faults(self, budget: RecordingBudget) -> None:
        """Record a sample of the faults with their addresses while the budget allows, then stop recording calls.

        The recorded calls show what happened to the faulting pages before.
        """
        seconds, period = shorten_sampling(budget, self._deadline - time.monotonic())
        if self._calls and seconds > 0:
            max_faults = _MAX_SAMPLED_RECORDS_FACTOR * budget.max_faults * period
            self.recordings.sampled_recording = self._record_faults(
                period=period,
                seconds=seconds,
                max_faults=max_faults,
                max_call_bytes=_MAX_SAMPLED_RECORDS_FACTOR * budget.max_call_bytes,
                min_faults=_MIN_SAMPLED_FAULTS * period,
            )
        self._stop_calls()

    def _start_calls(self) -> None:
        """Start a perf that records the calls of the whole host, unless one runs already or this is not permitted."""
        if self._calls or not self._permissions.tracepoints or self.stop.is_set():
            return
        # Skip the programs and mappings of all processes of the host, which take long to read.
        synthesis = ("--synth", "no") if has_record_option("--synth") else ()
        recorder = LiveRecorder(
            (*synthesis, *build_live_calls_options()), list_threads=None, buffer_pages=_CALL_BUFFER_PAGES
        )
        self._recorders.append(recorder)
        recorder.wait_until_attached()
        self._calls = self._begin_recording(recorder)

    def _stop_calls(self) -> None:
        """Stop the recording of calls, and add the cost of all of them: their processes are not known yet."""
        if self._calls:
            cost_seconds = self._calls.recorder.size / BYTES_PER_CALL * SECONDS_PER_CALL
            self.recordings.calls = self._end_recording(self._calls, lambda _: cost_seconds)
            self._calls = None

    def _have_many_calls(self, max_bytes: int) -> bool:
        """Return whether the recording of calls exceeds a size in bytes."""
        return self._calls is not None and self._calls.recorder.size > max_bytes

    def _record_faults(
        self, period: int, seconds: float, *, max_faults: int, max_call_bytes: int, min_faults: int = 0
    ) -> TimedRecording | None:
        """Record one in ``period`` faults with its address for some time, or until faults or calls are too many.

        Faults are recorded for a moment even if there are too many calls, because calls without faults are useless. If
        there are fewer than ``min_faults`` in this moment, only the calls end: a program that works in phases may
        return its memory in one, and touch it again in another.
        Return None if the observation ends before perf has attached.
        """
        # Record calls while this perf attaches, which takes a moment: they show which pages have just been given back.
        self._start_calls()
        recorder = self._attach(
            build_live_faults_options(period, error_codes=period == 1 and self._permissions.error_codes)
        )
        if recorder is None:
            return None
        # Read the guard pages below the threads' stacks: perf does not record those that exist when it attaches.
        guards = tuple(guard for pid in self._list_pids() for guard in read_guards(Tree(), pid))
        recording = self._begin_recording(recorder)
        end, earliest_end = recording.started_at + seconds, recording.started_at + _MIN_FAULTS_SECONDS
        poll_seconds = min(_LONG_POLL_SECONDS, max(_MIN_POLL_SECONDS, seconds / _POLLS))
        while not self.stop.wait(min(poll_seconds, max(0.0, end - time.monotonic()))):
            now, n_faults = time.monotonic(), self._compute_used_figures(recording).faults
            has_many_calls = now >= earliest_end and self._have_many_calls(max_call_bytes)
            if has_many_calls and n_faults < min_faults:
                self._stop_calls()
                max_faults = min(max_faults, min_faults)
            elif has_many_calls or now >= end or n_faults >= max_faults:
                break
        timed_recording = self._end_recording(
            recording,
            lambda used_figures: (
                used_figures.faults * SECONDS_PER_FAULT / period
                + used_figures.switches * SECONDS_PER_ATTACHED_SWITCH["addresses"]
            ),
        )
        return replace(timed_recording, period=period, guards=guards)

    def _record_switches(self, budget: RecordingBudget, deadline: float) -> bool:
        """Record the context switches of threads while the budget allows; do nothing if this is not permitted.

        At least half of the time until ``deadline`` (monotonic time) is left for stacks. Return False if the recording
        became too expensive.
        """
        if not self._permissions.kernel:
            return True
        events = ("-e", "context-switches", "-c", str(budget.switch_period))
        recorder = self._attach((*events, *self._build_graph_options(), "--switch-events"))
        if recorder is None:
            return True
        recording = self._begin_recording(recorder)
        seconds_per_switch = SECONDS_PER_ATTACHED_SWITCH["switches"] + SECONDS_PER_SWITCH
        seconds_per_stack = SECONDS_PER_STACK[self._call_graph]

        def compute_cost(used_figures: Figures) -> float:
            return used_figures.switches * (seconds_per_switch + seconds_per_stack / budget.switch_period)

        is_as_planned = self._wait(
            budget,
            min(budget.switch_seconds, max(0.0, deadline - recording.started_at) / 2),
            has_become_expensive=lambda: self._is_too_expensive(recording, compute_cost, "switches"),
        )
        self.recordings.switches = self._end_recording(recording, compute_cost)
        return is_as_planned

    def _record_stacks(self, budget: RecordingBudget, deadline: float) -> bool:
        """Record stacks of a sample of faults and of CPU time, for the planned time, or at least for half of it.

        A recording that is short in relation to the remaining time is divided into parts that are spread over this
        time, so that several phases of the program are seen. The end of the observation is reserved for sampling
        faults; stacks are recorded in it only as far as half of the planned time requires. ``deadline`` is the end of
        the observation (monotonic time). Return False if the recording became too expensive in its first part.
        """
        started_at = time.monotonic()
        seconds_left = deadline - budget.sampled_seconds - started_at
        seconds = max(budget.stack_seconds / 2, min(budget.stack_seconds, seconds_left))
        n_parts, pause_seconds = divide_time(seconds, seconds_left)
        if not self._record_part_of_stacks(budget, seconds / n_parts):
            return False
        for part in range(1, n_parts):
            part_start = started_at + part * (seconds / n_parts + pause_seconds)
            self._wait(budget, max(0.0, part_start - time.monotonic()))
            try:
                # If a later part is too expensive, the parts before it are kept.
                if not self._record_part_of_stacks(budget, seconds / n_parts):
                    break
            except AttachError as error:
                self.recordings.problems.append(str(error))
                break
        return True

    def _record_part_of_stacks(self, budget: RecordingBudget, seconds: float) -> bool:
        """Record stacks for some seconds; return False if all such recordings together became too expensive."""
        faults = f"page-faults/period={budget.fault_period},name=page-faults/"
        clock = f"cpu-clock/period={budget.clock_period},name=cpu-clock/"
        figures_before = self._read_figures()
        recorder = self._attach(("-e", faults, "-e", clock, *self._build_graph_options()))
        if recorder is None:
            return True
        recording = self._begin_recording(recorder)
        # perf makes switches more expensive while it attaches, too.
        self._add_stack_cost(_subtract_figures(recording.figures_before, figures_before).switches)
        seconds_per_stack = SECONDS_PER_STACK[self._call_graph]

        def compute_cost(used_figures: Figures) -> float:
            stacks = used_figures.faults / budget.fault_period + used_figures.cpu * 1e9 / budget.clock_period
            return used_figures.switches * SECONDS_PER_ATTACHED_SWITCH["stacks"] + stacks * seconds_per_stack

        is_as_planned = True
        try:
            is_as_planned = self._wait(
                budget,
                seconds,
                has_become_expensive=lambda: self._is_too_expensive(
                    recording,
                    lambda used_figures: self._stack_cost + compute_cost(used_figures),
                    "stacks-attached",
                    "faults",
                    "clock",
                ),
                faults_recording=recording,
            )
        finally:
            timed_recording = self._end_recording(recording, compute_cost)
            self._stack_cost += compute_cost(timed_recording.used_figures)
            self.recordings.stacks.append(timed_recording)
        return is_as_planned

    def _add_stack_cost(self, n_switches: int) -> None:
        """Add the cost of switches while a perf for stacks is attached without recording."""
        cost = n_switches * SECONDS_PER_ATTACHED_SWITCH["stacks"]
        self.cost_seconds += cost
        self._stack_cost += cost

    def _attach(self, options: Sequence[str]) -> LiveRecorder | None:
        """Start a perf, and return it once it has attached; return None if the observation has ended.

        Raises
        ------
        AttachError
            perf cannot attach, as when the processes have ended.
        """
        if self.stop.is_set():
            return None
        recorder = LiveRecorder(options, lambda: list_stable_threads(Tree(), self._list_pids()))
        self._recorders.append(recorder)
        recorder.wait_until_attached()
        return recorder

    def _build_graph_options(self) -> tuple[str, ...]:
        """Return the options of perf that record call stacks."""
        return ("--call-graph", "dwarf,8192" if self._call_graph == "dwarf" else self._call_graph)

    def _begin_recording(self, recorder: LiveRecorder) -> _RunningRecording:
        """Begin to record with a perf that has attached."""
        recorder.enable()
        return _RunningRecording(recorder, time.monotonic(), self._read_figures())

    def _compute_used_figures(self, recording: _RunningRecording) -> Figures:
        """Return what the processes have used since a recording began."""
        return _subtract_figures(self._read_figures(), recording.figures_before)

    def _end_recording(self, recording: _RunningRecording, compute_cost: Callable[[Figures], float]) -> TimedRecording:
        """Stop one perf, and add its cost, which ``compute_cost`` estimates from what the processes used meanwhile."""
        after, seconds = self._read_figures(), time.monotonic() - recording.started_at
        recording.recorder.stop()
        used_figures = _subtract_figures(after, recording.figures_before)
        self.cost_seconds += compute_cost(used_figures)
        return TimedRecording(recording.recorder, seconds, used_figures)


def divide_time(seconds: float, seconds_left: float) -> tuple[int, float]:
    """Return into how many parts a recording is divided, and the pause in seconds before each part but the first.

    Parameters
    ----------
    seconds
        How long is recorded.
    seconds_left
        The time over which the parts are spread.
    """
    n_parts = 1
    if seconds < seconds_left / 2:
        n_parts = max(1, min(_MAX_STACK_RECORDINGS, int(seconds / _MIN_STACK_SECONDS)))
    return n_parts, max(0.0, seconds_left - seconds) / n_parts


def _compute_rates(before: Figures, after: Figures, seconds: float) -> Rates:
    """Return what processes used per second between two readings; the CPU time is at least a little."""
    used_figures = _subtract_figures(after, before)
    cpu_seconds = max(used_figures.cpu, _MIN_CPU_SECONDS)
    return Rates(
        faults=used_figures.faults / seconds, switches=used_figures.switches / seconds, cpu=cpu_seconds / seconds
    )


def _subtract_figures(after: Figures, before: Figures) -> Figures:
    """Return what processes used between two readings."""
    return compute_interval(before, after, 1.0).used_figures
