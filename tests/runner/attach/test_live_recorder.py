"""A perf that records running processes."""

import pytest

from runner.attach.live_recorder import LiveRecorder
from runner.perf.attached_perf import AttachError


def test_perf_is_not_started_without_a_thread_because_it_would_record_the_whole_host() -> None:
    with pytest.raises(AttachError, match="the processes have ended"):
        LiveRecorder(("-e", "page-faults"), list_threads=lambda: [])
