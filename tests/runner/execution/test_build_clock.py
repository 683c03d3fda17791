"""The clock that stands still while builds are stopped, in this process and in the one that builds."""

import time

import pytest

from runner.execution.build_clock import BuildClock


def test_the_clock_stands_still_while_it_is_stopped_and_goes_on_from_there() -> None:
    clock = BuildClock()
    before = clock.read()
    with clock.stop():
        stopped_at = clock.read()
        time.sleep(0.2)
        assert clock.read() == pytest.approx(stopped_at, abs=0.001)
    with clock.stop():
        time.sleep(0.1)
    assert 0 <= clock.read() - before < 0.1
    time.sleep(0.05)
    assert clock.read() - before >= 0.05


def test_who_inherits_the_clock_sees_afterwards_how_long_it_was_stopped() -> None:
    clock = BuildClock()
    inherited = BuildClock(clock.descriptor)
    before = inherited.read()
    with clock.stop():
        time.sleep(0.2)
    assert 0 <= inherited.read() - before < 0.1
