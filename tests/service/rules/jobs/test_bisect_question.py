"""A drift becomes the question of a bisect: its ends, the smallest change that matters, and what may be reproduced."""

from collections.abc import Mapping

import pytest

from runner.contract.job import BisectQuestion
from service.rules.jobs.bisect_question import build_bisect_question
from service.schemas.history import Drift
from tests.service import made_series


def drift(**changes: object) -> Drift:
    points = [made_series.point(number, 100 * number) for number in (1, 2)]
    return made_series.drift(1, points[0], points[1]).model_copy(update=changes)


def asked(step: Drift, settings: Mapping[str, str] | None = None) -> BisectQuestion:
    question = build_bisect_question(step, settings or {})
    assert question is not None
    return question


def test_the_bisect_goes_from_the_last_point_before_to_the_first_one_after() -> None:
    step = drift()
    question = asked(step)
    assert (question.good, question.bad, question.drift) == (step.previous_revision, step.revision, step.id)


def test_where_the_position_is_uncertain_the_bisect_contains_all_candidates() -> None:
    question = asked(drift(last_good="a" * 40, first_bad="f" * 40))
    assert (question.good, question.bad) == ("a" * 40, "f" * 40)


def test_an_exact_bisect_ignores_less_than_a_tenth_of_the_drift_and_a_noisy_one_nothing() -> None:
    assert asked(drift(change=-70)).min_difference == 7
    assert asked(drift(metric="elapsed", change=70)).min_difference == 0


def test_it_reproduces_the_variables_that_a_job_may_set_and_no_secret() -> None:
    settings = {
        "variable.MALLOC_ARENA_MAX": "1",
        "variable.BASH_ENV": "/tmp/evil",
        "variable.TZ": "(hidden)",
        "kernel.release": "6.1",
    }
    assert asked(drift(), settings).variables == {"MALLOC_ARENA_MAX": "1"}


@pytest.mark.parametrize("changes", [{"case": "x" * 1001}, {"metric": "x" * 201}])
def test_no_job_is_made_for_names_that_are_too_long_for_one(changes: dict[str, str]) -> None:
    assert build_bisect_question(drift(**changes), {}) is None
