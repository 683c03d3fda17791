"""How a live process is recorded, in the order of the plan, by a recorder that records nothing."""

import time
from collections.abc import Callable, Sequence

import pytest

from runner.attach import background_recording
from runner.attach.background_recording import LiveRecording, divide_time
from runner.attach.live_figures import Figures
from runner.attach.recording_budget import BYTES_PER_CALL, SECONDS_PER_CALL, SECONDS_PER_FAULT
from runner.perf.attached_perf import AttachError
from runner.profile.permissions import RecordingPermissions

N_CALLS = 10


class Recorder:
    """A perf that does nothing."""

    size = N_CALLS * BYTES_PER_CALL
    n_stacks = 0
    """How often stacks were recorded."""
    first_start = float("inf")
    """When the first of them started, which is after the processes were counted for the first time."""

    def __init__(self, options: Sequence[str], *_: object, **__: object) -> None:
        """Count the recordings of stacks."""
        Recorder.n_stacks += any("cpu-clock" in option for option in options)
        Recorder.first_start = min(Recorder.first_start, time.monotonic())

    def wait_until_attached(self) -> None:
        """Attach at once."""

    enable = disable = stop = finish = close = wait_until_attached


class RecorderOfManyCalls(Recorder):
    """A perf that has recorded too many calls as soon as stacks are recorded."""

    @property
    def size(self) -> int:  # type: ignore[override]
        """The size of the recording of calls."""
        return 1 << 30 if Recorder.n_stacks else 0


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read of the host."""
    monkeypatch.setattr(background_recording, "LiveRecorder", Recorder)
    monkeypatch.setattr(background_recording, "has_record_option", lambda _: True)
    monkeypatch.setattr(background_recording, "read_guards", lambda *_: ())
    monkeypatch.setattr(Recorder, "n_stacks", 0)
    monkeypatch.setattr(Recorder, "first_start", float("inf"))


def start(read_figures: Callable[[], Figures], seconds: float, max_overhead: float) -> LiveRecording:
    """Start to record a process that uses these figures."""
    permissions = RecordingPermissions(tracepoints=True, error_codes=False, kernel=False)
    recording = LiveRecording(
        lambda: [],
        read_figures,
        seconds=seconds,
        max_overhead=max_overhead,
        call_graph="fp",
        permissions=permissions,
    )
    recording.start()
    return recording


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, but not for ever."""
    deadline = time.monotonic() + 5
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


@pytest.mark.usefixtures("patched")
def test_an_observation_that_ends_while_it_is_planned_again_keeps_its_calls_and_their_cost() -> None:
    def read_figures() -> Figures:
        """Return the figures of a process that is idle while it is counted, and then has thousands of faults."""
        busy_seconds = max(0.0, time.monotonic() - Recorder.first_start)
        return Figures(minor=round(100_000 * busy_seconds), user=busy_seconds)

    recording = start(read_figures, seconds=5.0, max_overhead=0.01)
    wait_for(lambda: recording.recordings.addresses)
    time.sleep(0.1)  # The process is counted again.
    recordings = recording.finish()
    assert recordings.calls is not None
    assert recordings.addresses is not None
    cost_seconds = recordings.addresses.used_figures.faults * SECONDS_PER_FAULT + N_CALLS * SECONDS_PER_CALL
    assert recording.cost_seconds == pytest.approx(cost_seconds)


@pytest.mark.usefixtures("patched")
def test_a_process_with_many_calls_is_not_recorded_again_as_if_it_had_become_busier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_recording, "LiveRecorder", RecorderOfManyCalls)

    def read_figures() -> Figures:
        """Return the figures of a process that is always as busy, and switches often."""
        now = time.monotonic()
        return Figures(minor=round(100_000 * now), user=now, switches=round(30_000 * now))

    recording = start(read_figures, seconds=2.5, max_overhead=0.035)
    wait_for(lambda: not recording.is_running())
    recordings = recording.finish()
    assert recordings.sampled_recording is not None
    assert len(recordings.stacks) == Recorder.n_stacks, "none was discarded"


@pytest.mark.parametrize(
    ("seconds", "n_parts", "pause_seconds"), [(0.2, 4, 4.95), (0.06, 2, 9.97), (0.04, 1, 19.96), (12.0, 1, 8.0)]
)
def test_a_short_recording_of_stacks_is_spread_over_the_time_that_is_left(
    seconds: float, n_parts: int, pause_seconds: float
) -> None:
    assert divide_time(seconds, 20.0) == (n_parts, pytest.approx(pause_seconds))


@pytest.mark.usefixtures("patched")
def test_a_process_that_switches_often_is_recorded_in_several_parts_of_the_time() -> None:
    def read_figures() -> Figures:
        """Return the figures of a process that is always as busy, and switches often."""
        now = time.monotonic()
        return Figures(minor=round(1_000 * now), user=now, switches=round(30_000 * now))

    started_at = time.monotonic()
    recordings = start(read_figures, seconds=4.0, max_overhead=0.035)
    wait_for(lambda: not recordings.is_running())
    parts = recordings.finish().stacks
    assert len(parts) > 1
    assert sum(part.seconds for part in parts) < 1
    assert time.monotonic() - started_at < 8


class RecorderOfManyCallsAtOnce(Recorder):
    """A perf that has recorded too many calls from the beginning."""

    size = 1 << 30


@pytest.mark.usefixtures("patched")
def test_a_program_that_gives_its_memory_back_in_one_phase_is_observed_until_it_touches_it_in_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background_recording, "LiveRecorder", RecorderOfManyCallsAtOnce)
    started_at = time.monotonic()

    def read_figures() -> Figures:
        """Return the figures of a process that pauses for two seconds after it was counted."""
        now = time.monotonic()
        busy_seconds = min(now - started_at, 0.7) + max(0, now - started_at - 2.7)
        return Figures(minor=round(100_000 * busy_seconds), user=now)

    recording = start(read_figures, seconds=6.0, max_overhead=0.05)
    wait_for(lambda: recording.recordings.sampled_recording)
    recordings = recording.finish()
    assert recordings.sampled_recording is not None
    assert recordings.sampled_recording.used_figures.faults >= 1000
    assert recordings.calls is not None


@pytest.mark.usefixtures("patched")
def test_a_second_plan_knows_the_busy_phase_that_the_first_did_not_see() -> None:
    def read_figures() -> Figures:
        """Return the figures of a process that faults between the first and the second count."""
        now = time.monotonic()
        return Figures(minor=round(min(12_500, max(0.0, 60_000 * (now - Recorder.first_start)))), user=now)

    recording = start(read_figures, seconds=12.0, max_overhead=0.01)
    first_budget = None
    wait_for(lambda: recording.recordings.budget)
    first_budget = recording.recordings.budget
    wait_for(lambda: recording.recordings.budget not in {None, first_budget})
    second_budget = recording.recordings.budget
    recording.finish()
    assert first_budget
    assert second_budget
    assert (first_budget.fault_period, second_budget.fault_period > 1) == (1, True)


class RecorderThatCannotAttachAgain(Recorder):
    """A perf that cannot attach for the second part of the stacks."""

    def wait_until_attached(self) -> None:
        """Fail as perf does when the processes have ended."""
        if Recorder.n_stacks == 2:
            raise AttachError("the processes have ended")


@pytest.mark.usefixtures("patched")
def test_what_was_recorded_before_perf_cannot_attach_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_recording, "LiveRecorder", RecorderThatCannotAttachAgain)

    def read_figures() -> Figures:
        """Return the figures of a process that is always as busy, and switches often."""
        now = time.monotonic()
        return Figures(minor=round(1_000 * now), user=now, switches=round(30_000 * now))

    recording = start(read_figures, seconds=4.0, max_overhead=0.035)
    wait_for(lambda: not recording.is_running())
    recordings = recording.finish()
    assert set(recordings.problems) == {"the processes have ended"}
    assert len(recordings.stacks) == 1
    assert recordings.calls is not None
