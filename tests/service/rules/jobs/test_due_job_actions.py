"""Which action is due on a job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.job import Backend, State
from service.rules.jobs.due_job_actions import MAX_ATTEMPTS, find_due_action
from service.rules.jobs.job_descriptions import describe_job
from service.rules.jobs.job_snapshot import JobSnapshot
from service.rules.jobs.job_states import Action, is_possible

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
QUEUED = JobSnapshot(State.QUEUED, Backend.LOCAL, NOW, None, None, None, None, 0, 0)


@pytest.mark.parametrize(
    ("job", "later", "action"),
    [
        (QUEUED, 0, Action.DISPATCH),
        (replace(QUEUED, due_at=NOW + MINUTE), 0, None),
        (replace(QUEUED, due_at=NOW + MINUTE), 1, Action.DISPATCH),
        (replace(QUEUED, backend=Backend.CALLER), 1, None),
        (replace(QUEUED, state=State.DISPATCHED), 1, None),
        (replace(QUEUED, state=State.DISPATCHED), 2, Action.LOSE),
        (replace(QUEUED, state=State.DISPATCHED, backend=Backend.GITHUB), 60, None),
        (replace(QUEUED, state=State.RUNNING, leased_until=NOW + MINUTE), 0, None),
        (replace(QUEUED, state=State.RUNNING, leased_until=NOW + MINUTE), 1, Action.LOSE),
        (replace(QUEUED, state=State.LOST, fruitless=MAX_ATTEMPTS - 1), 0, Action.AGAIN),
        (replace(QUEUED, state=State.LOST, fruitless=MAX_ATTEMPTS), 0, Action.FAIL),
        (replace(QUEUED, state=State.LOST, backend=Backend.CALLER, fruitless=9), 0, None),
        (replace(QUEUED, state=State.PAUSED), 10_000, None),
        (replace(QUEUED, state=State.PAUSED, deadline_at=NOW + MINUTE), 1, Action.FAIL),
        (replace(QUEUED, max_runs=5, runs=5), 0, Action.DISPATCH),
        (replace(QUEUED, max_runs=5, runs=6), 0, Action.FAIL),
        (replace(QUEUED, state=State.DONE, deadline_at=NOW), 1, None),
    ],
)
def test_what_is_due(job: JobSnapshot, later: int, action: Action | None) -> None:
    due = find_due_action(job, NOW + later * MINUTE)
    assert (due and due.action) == action


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
    due = find_due_action(job, NOW)
    assert due is None or is_possible(state, due.action)


def test_whom_one_waits_for() -> None:
    said = "a profile of copy[mib=8], which the service ordered"
    assert describe_job("profile", "copy[mib=8]", "service") == said
    assert describe_job("bisect", "copy", "Ada") == "a bisect of copy, which Ada ordered"
    assert describe_job("measure", "copy", "") == "a measurement of copy"
