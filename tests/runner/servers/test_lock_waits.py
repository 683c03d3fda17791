"""Waits for the lock of the address space, which only servers count."""

import pytest

from runner.contract.report import Reading, Status
from runner.perf import event_support
from runner.perf.counted_events import LOCK_WAIT_EVENT
from runner.perf.event_support import split_known_events
from runner.servers.lock_waits import rename_lock_waits
from tests.runner.servers.conftest import Execute


def test_filtered_waits_get_the_name_of_the_metric_unless_they_were_not_counted() -> None:
    faults, waits = Reading(value=1), Reading(value=7)
    renamed = rename_lock_waits({LOCK_WAIT_EVENT: waits, "minor-faults": faults})
    assert renamed == {"minor-faults": faults, "rwsem-waits": waits}
    uncounted = Reading(status=Status.NOT_COUNTED)
    assert rename_lock_waits({LOCK_WAIT_EVENT: uncounted, "minor-faults": faults}) == {"minor-faults": faults}


@pytest.mark.perf
def test_threads_that_wait_for_the_lock_of_the_address_space_are_counted(execute: Execute) -> None:
    if not split_known_events([LOCK_WAIT_EVENT])[0]:
        pytest.skip("needs the tracepoint lock:contention_begin")
    assert execute("touch").readings["rwsem-waits"].value == 0
    assert (execute("compete", requests=10).readings["rwsem-waits"].value or 0) > 10


@pytest.mark.perf
def test_waits_that_cannot_be_counted_are_absent(execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_support, "_is_known", {LOCK_WAIT_EVENT: False})
    assert all("rwsem-waits" not in window.readings for window in execute("touch").windows)


@pytest.mark.perf
def test_a_workload_that_counts_all_waits_has_those_alone(execute: Execute) -> None:
    if not split_known_events([LOCK_WAIT_EVENT])[0]:
        pytest.skip("needs the tracepoint lock:contention_begin")
    sample = execute("touch", load=f'[metrics]\nevents = ["{LOCK_WAIT_EVENT}"]')
    assert LOCK_WAIT_EVENT in sample.readings
    assert "rwsem-waits" not in sample.readings
