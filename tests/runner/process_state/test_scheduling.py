import os

import pytest

from runner.process_state.process_attribute import can_apply
from runner.process_state.scheduling import RoundRobin


def test_it_is_applied_shown_and_undone() -> None:
    if not can_apply(RoundRobin()):
        pytest.skip("this host does not allow real-time scheduling")
    scheduling = RoundRobin()
    before = scheduling.read_value()
    scheduling.apply()
    try:
        assert scheduling.read_value() == scheduling.target
    finally:
        scheduling.undo()
    assert scheduling.read_value() == before


def test_a_refusal_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    before = os.sched_getscheduler(0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_setscheduler", refuse)
        assert not can_apply(RoundRobin())
    assert os.sched_getscheduler(0) == before
