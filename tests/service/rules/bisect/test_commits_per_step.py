"""How many commits a search builds and measures in one step."""

from math import ceil, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.commit_search import Pace
from service.rules.bisect.commits_per_step import choose_commits_at_once
from service.rules.bisect.exact_search import search_exact_metric
from service.rules.bisect.question import Measure, Observation, Question
from tests.service.rules.bisect.histories import levels, line


def pace(jobs: int, build: float, cpu: float, measure: float) -> Pace:
    return Pace(build_jobs=jobs, build_seconds=build, build_cpu_seconds=cpu, measure_seconds=measure)


def test_builds_that_use_one_processor_run_on_all_of_them() -> None:
    assert [choose_commits_at_once(pace(jobs, 7, 7, 0.1)) for jobs in (1, 2, 4)] == [1, 2, 4]


def test_a_build_that_uses_all_processors_runs_alone() -> None:
    assert choose_commits_at_once(pace(16, 10, 160, 0.5)) == 1


def test_long_measurements_are_not_multiplied() -> None:
    assert choose_commits_at_once(pace(2, 7, 7, 60)) == 1


def test_both_ends_are_built_side_by_side() -> None:
    assert choose_commits_at_once(Pace(build_jobs=8)) == 2
    assert choose_commits_at_once(Pace()) == 1


@given(st.integers(1, 64), st.floats(0, 1e6), st.none() | st.floats(0, 1e6), st.floats(0, 1e6), st.floats(1e-3, 1e3))
def test_it_depends_on_the_ratios_alone(
    jobs: int, build: float, cpu: float | None, measure: float, factor: float
) -> None:
    many = choose_commits_at_once(pace(jobs, build, cpu, measure))  # type: ignore[arg-type]
    assert 1 <= many <= jobs
    if build > measure > 1e-3:
        scaled = pace(jobs, build * factor, None if cpu is None else cpu * factor, measure * factor)  # type: ignore[arg-type]
        assert abs(choose_commits_at_once(scaled) - many) <= 1


@pytest.mark.parametrize("culprit", [1, 77, 100, 101, 150, 151, 299, 300])
@pytest.mark.parametrize("many", [1, 2, 3, 7])
def test_a_step_with_several_commits_divides_the_range_into_equal_parts(culprit: int, many: int) -> None:
    nodes = line(300)
    question, truth = Question(good="c0", bad="c300", commits=nodes), levels(nodes, {f"c{culprit}": 7})
    seen = [Observation(commit=end, value=truth[end]) for end in ("c0", "c300")]
    steps = 0
    while isinstance(answer := search_exact_metric(question, seen, many), Measure):
        assert len(answer.commits) <= many
        seen += [Observation(commit=commit, value=truth[commit]) for commit in answer.commits]
        steps += 1
    assert steps <= ceil(log(300, many + 1)) + 1
