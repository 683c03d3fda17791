"""Which states lead to which, and what is due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.job import Backend, State
from service.rules.jobs.automatic_acts import MOST_ATTEMPTS, JobSnapshot, automatic_act
from service.rules.jobs.states import Act, JobTransitionError, is_possible, next_state

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUEUED = JobSnapshot(State.QUEUED, Backend.LOCAL, NOW, None, None, None, None, 0, 0)


def test_a_job_that_has_ended_stays_as_it_is() -> None:
    for state in State:
        assert any(is_possible(state, act) for act in Act) == state.open


def test_from_every_open_state_there_is_a_way_out() -> None:
    assert all(next_state(state, Act.CANCEL) is State.CANCELLED for state in State if state.open)
    assert all(next_state(state, Act.FAIL) is State.FAILED for state in State if state.open)


def test_the_way_of_a_job_that_is_paused_and_lost() -> None:
    state = State.QUEUED
    for act, then in (
        (Act.DISPATCH, State.DISPATCHED),
        (Act.CLAIM, State.RUNNING),
        (Act.PAUSE, State.PAUSED),
        (Act.RESUME, State.QUEUED),
        (Act.CLAIM, State.RUNNING),
        (Act.LOSE, State.LOST),
        (Act.AGAIN, State.QUEUED),
        (Act.DISPATCH, State.DISPATCHED),
        (Act.CLAIM, State.RUNNING),
        (Act.DONE, State.DONE),
    ):
        state = next_state(state, act)
        assert state is then


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(JobTransitionError, match="a job that is done cannot be paused"):
        next_state(State.DONE, Act.PAUSE)


@pytest.mark.parametrize(
    ("job", "later", "act"),
    [
        (QUEUED, 0, Act.DISPATCH),
        (replace(QUEUED, due_at=NOW + MINUTE), 0, None),
        (replace(QUEUED, due_at=NOW + MINUTE), 1, Act.DISPATCH),
        (replace(QUEUED, backend=Backend.CALLER), 1, None),
        (replace(QUEUED, state=State.DISPATCHED), 1, None),
        (replace(QUEUED, state=State.DISPATCHED), 2, Act.LOSE),
        (replace(QUEUED, state=State.DISPATCHED, backend=Backend.GITHUB), 60, None),
        (replace(QUEUED, state=State.RUNNING, leased_until=NOW + MINUTE), 0, None),
        (replace(QUEUED, state=State.RUNNING, leased_until=NOW + MINUTE), 1, Act.LOSE),
        (replace(QUEUED, state=State.LOST, fruitless=MOST_ATTEMPTS - 1), 0, Act.AGAIN),
        (replace(QUEUED, state=State.LOST, fruitless=MOST_ATTEMPTS), 0, Act.FAIL),
        (replace(QUEUED, state=State.LOST, backend=Backend.CALLER, fruitless=9), 0, None),
        (replace(QUEUED, state=State.PAUSED), 10_000, None),
        (replace(QUEUED, state=State.PAUSED, deadline_at=NOW + MINUTE), 1, Act.FAIL),
        (replace(QUEUED, most_runs=5, runs=5), 0, Act.DISPATCH),
        (replace(QUEUED, most_runs=5, runs=6), 0, Act.FAIL),
        (replace(QUEUED, state=State.DONE, deadline_at=NOW), 1, None),
    ],
)
def test_what_is_due(job: JobSnapshot, later: int, act: Act | None) -> None:
    found = automatic_act(job, NOW + later * MINUTE)
    assert (found and found.act) == act


@given(
    state=st.sampled_from(State),
    backend=st.sampled_from(Backend),
    leased=st.none() | st.timedeltas(-MINUTE, MINUTE),
    deadline=st.none() | st.timedeltas(-MINUTE, MINUTE),
    fruitless=st.integers(0, 9),
)
def test_what_is_due_can_happen(
    state: State, backend: Backend, leased: timedelta | None, deadline: timedelta | None, fruitless: int
) -> None:
    job = JobSnapshot(
        state,
        backend,
        NOW,
        None if leased is None else NOW + leased,
        None,
        None if deadline is None else NOW + deadline,
        None,
        0,
        fruitless,
    )
    found = automatic_act(job, NOW)
    assert found is None or is_possible(state, found.act)
