"""How a live process is recorded, in the order of the plan, by a recorder that records nothing."""

import time
from collections.abc import Iterator

import pytest

from runner.attach import background_recording
from runner.attach.background_recording import LiveRecording
from runner.attach.live_figures import Figures
from runner.attach.recording_budget import BYTES_PER_CALL, SECONDS_PER_CALL, SECONDS_PER_FAULT
from runner.profile.permissions import RecordingPermissions

N_CALLS = 10


class Recorder:
    """A perf that does nothing."""

    size = N_CALLS * BYTES_PER_CALL

    def __init__(self, *_: object, **__: object) -> None:
        """Start nothing."""

    def wait_until_attached(self) -> None:
        """Attach at once."""

    enable = disable = stop = finish = close = wait_until_attached


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveRecording]:
    """The recording of a process that is idle while it is counted at first, and then has thousands of faults."""
    monkeypatch.setattr(background_recording, "LiveRecorder", Recorder)
    monkeypatch.setattr(background_recording, "has_record_option", lambda _: True)
    monkeypatch.setattr(background_recording, "read_guards", lambda *_: ())
    busy_from = time.monotonic() + 0.35

    def read_figures() -> Figures:
        busy_seconds = max(0.0, time.monotonic() - busy_from)
        return Figures(minor=round(100_000 * busy_seconds), user=busy_seconds)

    permissions = RecordingPermissions(tracepoints=True, error_codes=False, kernel=False)
    made = LiveRecording(
        lambda: [],
        read_figures,
        seconds=3.0,
        max_overhead=0.01,
        call_graph="fp",
        permissions=permissions,
    )
    made.start()
    yield made
    made.close()


def test_an_observation_that_ends_while_it_is_planned_again_keeps_its_calls_and_their_cost(
    recording: LiveRecording,
) -> None:
    deadline = time.monotonic() + 2
    while recording.recordings.addresses is None and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)  # The process is counted again.
    recordings = recording.finish()
    assert recordings.calls is not None
    assert recordings.addresses is not None
    cost_seconds = recordings.addresses.used_figures.faults * SECONDS_PER_FAULT + N_CALLS * SECONDS_PER_CALL
    assert recording.cost_seconds == pytest.approx(cost_seconds)
