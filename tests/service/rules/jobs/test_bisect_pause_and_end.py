"""What the service measures by itself gives way to what people order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.job import Backend, State
from service.rules.jobs import job_states
from service.rules.jobs.bisect_pause_and_end import OpenJob, decide_actions
from service.rules.jobs.job_states import Action

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job(number: int, state: State = State.RUNNING, **changes: object) -> OpenJob:
    told = {
        "id": number,
        "state": state,
        "backend": Backend.LOCAL,
        "host": "lab-1",
        "created_at": NOW - timedelta(hours=1),
        "by_service": number < 10,
    }
    return OpenJob(**(told | changes))  # type: ignore[arg-type]


def decided(*jobs: OpenJob, idle: bool = True) -> dict[int, Action]:
    return {number: action.action for number, action in decide_actions(jobs, lambda _: idle, NOW).items()}


@pytest.mark.parametrize("state", [State.QUEUED, State.DISPATCHED, State.RUNNING, State.LOST])
def test_it_pauses_for_any_job_that_somebody_ordered_for_its_host(state: State) -> None:
    assert decided(job(1, state), job(20, State.QUEUED)) == {1: Action.PAUSE}
    assert decided(job(1, state), job(20, State.QUEUED, host=None)) == {1: Action.PAUSE}
    assert decided(job(1, state), job(20, State.QUEUED, host="lab-2")) == {}
    assert decided(job(1, state), job(20, State.PAUSED)) == {}


def test_it_goes_on_when_the_host_is_idle_again() -> None:
    paused = job(1, State.PAUSED, was_paused=True)
    assert decided(paused, job(20)) == {}
    assert decided(paused, idle=False) == {}
    assert decided(paused) == {1: Action.RESUME}


def test_what_a_person_paused_stays_paused() -> None:
    assert decided(job(1, State.PAUSED)) == {}


def test_a_command_that_nobody_starts_does_not_stop_it_for_ever() -> None:
    ordered = job(20, State.QUEUED, backend=Backend.CALLER)
    assert decided(job(1), ordered) == {}
    just_now = job(20, State.QUEUED, backend=Backend.CALLER, created_at=NOW - timedelta(minutes=1))
    assert decided(job(1), just_now) == {1: Action.PAUSE}


def test_it_rests_while_its_drift_is_withdrawn() -> None:
    assert decided(job(1, is_withdrawn=True)) == {1: Action.PAUSE}
    assert decided(job(1, State.PAUSED, was_paused=True, is_withdrawn=True)) == {}
    assert decided(job(1, State.PAUSED, was_paused=True)) == {1: Action.RESUME}


def test_it_ends_when_its_event_needs_no_commit_any_more() -> None:
    assert decided(job(1, settled_reason="Its event is expected."), job(20)) == {1: Action.CANCEL}


@given(
    st.lists(
        st.builds(
            job,
            st.integers(1, 20),
            st.sampled_from([state for state in State if state.open]),
            was_paused=st.booleans(),
            is_withdrawn=st.booleans(),
            settled_reason=st.sampled_from(["", "settled"]),
            host=st.sampled_from([None, "lab-1", "lab-2"]),
        ),
        unique_by=lambda made: made.id,
    ),
    st.booleans(),
)
def test_every_act_is_possible_and_touches_no_job_of_a_person(jobs: list[OpenJob], idle: bool) -> None:
    by_id = {made.id: made for made in jobs}
    for number, action in decided(*jobs, idle=idle).items():
        assert by_id[number].by_service
        if action is not Action.RESUME or by_id[number].state is State.PAUSED:
            assert job_states.is_possible(by_id[number].state, action)
