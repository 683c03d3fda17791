import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from runner.process_state.process_attribute import can_apply
from runner.process_state.process_state import ProcessState
from runner.process_state.scheduling import ForegroundScheduling, RoundRobin


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


@pytest.fixture(params=["SCHED_BATCH", "SCHED_IDLE"])
def background_policy(request: pytest.FixtureRequest) -> Iterator[int]:
    """Give this thread a policy for work in the background, as a service manager may do."""
    policy: int = getattr(os, request.param)
    os.sched_setscheduler(0, policy, os.sched_param(0))
    yield policy
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def test_a_program_does_not_inherit_that_the_runner_works_in_the_background(background_policy: int) -> None:
    if not can_apply(ForegroundScheduling()):
        pytest.skip("this user may not leave this policy")
    with ProcessState().apply():
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
    assert os.sched_getscheduler(0) == background_policy
    assert "process.scheduling" not in ProcessState().read_settings()
    assert not [remark for remark in ProcessState().list_remarks() if "scheduling" in remark]


def test_a_policy_that_cannot_be_left_is_a_setting_and_a_remark(
    background_policy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    name = {os.SCHED_BATCH: "batch", os.SCHED_IDLE: "idle"}[background_policy]
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_setscheduler", refuse)
        assert ProcessState().read_settings()["process.scheduling"] == name
        remarks = [remark for remark in ProcessState().list_remarks() if "scheduling" in remark]
    assert remarks == [f"process.scheduling is {name}, not ordinary: {ForegroundScheduling.remedy}"]


def test_the_priority_of_a_comparison_is_kept() -> None:
    if not can_apply(RoundRobin()):
        pytest.skip("this host does not allow real-time scheduling")
    scheduling = RoundRobin()
    scheduling.apply()
    try:
        with ProcessState().apply():
            assert scheduling.read_value() == "round-robin"
        assert "process.scheduling" not in ProcessState().read_settings()
    finally:
        scheduling.undo()
