from __future__ import annotations

from typing import Any

import pytest

from service.rules.events.assignee_and_next_step_text import describe_assignees, describe_next_step
from service.schemas.history import Candidate, Cause
from service.schemas.triage import EventDirection, State
from tests.service.notify.made_events import event

CULPRIT = Candidate(commit="c" * 40, title="Grow", author="Cy")


@pytest.mark.parametrize(
    ("changes", "who", "what"),
    [
        ({"n_candidates": 1, "certainty": "single"}, "Ada", "Fix the regression, or mark it as expected"),
        (
            {"n_candidates": 19, "authors": ["Ada", "Bo", "Cy"], "certainty": "range"},
            "",
            "Find which of 19 commits caused it",
        ),
        ({"n_candidates": 3, "authors": ["Bo"], "certainty": "range"}, "Bo", "Find which of 3 commits caused it"),
        (
            {"n_candidates": 1, "candidates_known": False, "authors": ["Bo"], "certainty": "range"},
            "",
            "Find which commit caused it",
        ),
        (
            {"cause": Cause.COMMIT_AND_CONFIG, "n_candidates": 3, "authors": ["Bo"], "certainty": "range"},
            "Bo",
            "Find out whether a commit or the configuration caused it",
        ),
        (
            {"culprits": [CULPRIT], "n_candidates": 3, "certainty": "proven"},
            "Cy",
            "Fix the regression, or mark it as expected",
        ),
        ({"confirmed": False, "certainty": "provisional", "n_candidates": 3}, "", "Wait: further runs will decide"),
        # A change that may be none has no author yet.
        ({"confirmed": False, "n_candidates": 1, "authors": ["Ada"]}, "", "Wait: further runs will decide"),
        (
            {"confirmed": False, "n_candidates": 1, "authors": ["Ada"], "assignee": "Di"},
            "Di",
            "Wait: further runs will decide",
        ),
        (
            {"n_candidates": 1, "certainty": "single", "direction": EventDirection.MIXED},
            "Ada",
            "Fix the regression, or mark it as expected",
        ),
        ({"cause": Cause.CONFIG, "certainty": "confirmed"}, "", "Revert the configuration, or mark it as expected"),
        ({"only_builds": 7}, "Ada", "Nothing to do: builds or folders cause the difference, not a commit"),
        ({"cause": Cause.UNKNOWN, "certainty": "confirmed"}, "", "Check the host"),
        (
            {"n_candidates": 1, "certainty": "single", "direction": EventDirection.IMPROVEMENT},
            "Ada",
            "Nothing to repair: mark it as expected",
        ),
        (
            {"n_candidates": 19, "certainty": "range", "assignee": "Di", "state": State.ACKNOWLEDGED},
            "Di",
            "Fix the regression, or mark it as expected",
        ),
        ({"n_candidates": 1, "certainty": "single", "open": False, "state": State.FIXED}, "Ada", ""),
    ],
)
def test_a_row_says_who_looks_and_what_to_do(changes: dict[str, Any], who: str, what: str) -> None:
    made = event(**changes)
    assert (describe_assignees(made), describe_next_step(made)) == (who, what)


def test_a_row_does_not_promise_a_run_that_cannot_come() -> None:
    made = event(confirmed=False, certainty="provisional", n_candidates=3)
    assert (
        describe_next_step(made, can_be_confirmed=False)
        == "No further run will come: mark it as expected, or as a false alarm"
    )


@pytest.mark.parametrize(
    ("changes", "who"),
    [
        ({"n_candidates": 1, "authors": ["Ada"]}, "Ada"),
        ({"n_candidates": 3, "authors": ["Ada", "Bo"]}, "Ada or Bo"),
        ({"n_candidates": 3, "authors": ["Ada", "Bo", "Cy"]}, ""),
        ({"n_candidates": 1, "authors": ["Ada"], "candidates_known": False}, ""),
        ({"n_candidates": 0, "authors": [], "cause": Cause.CONFIG}, ""),
    ],
)
def test_if_no_run_will_decide_the_authors_of_a_suspected_change_do(changes: dict[str, Any], who: str) -> None:
    made = event(confirmed=False, certainty="provisional", **changes)
    assert not describe_assignees(made), "a run decides whether there is a change at all"
    assert describe_assignees(made, can_be_confirmed=False) == who
