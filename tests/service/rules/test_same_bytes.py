"""The same bytes count the same: what follows from that for blame, comparisons and searches."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import ComparisonRequest, Kind, Report, Verdict
from runner.contract.files import CacheState, Doubt, Files, MappedFile
from service.rules.bisect import exact_search
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Found, Measure, Observation, Question, Refused
from service.rules.comparison.in_turns import decide
from service.rules.same_bytes import Material, changed_nothing, is_no_fact, levels_of_bytes, material, system_files
from service.rules.series.find_drifts import find_drifts
from service.rules.series.path import PathPoint, arrange_trend
from service.schemas.history import Cause
from tests.service import reports

A, B = Material("a" * 16, "1" * 16), Material("b" * 16, "1" * 16)
UPGRADED = Material("a" * 16, "2" * 16)
START = datetime(2025, 1, 1, tzinfo=UTC)
SESSION = uuid.UUID(int=1)


def files(of: Material) -> Files:
    library = MappedFile(path="/lib/libc.so.6", own=False, digest=of.system, cache=CacheState.MADE)
    doubt = Doubt(least=of.least, most=of.most)
    return Files(mapped=(library,), own_bytes=of.own, system_bytes=of.system, doubt=doubt)


def causes(*told: tuple[int, Material], environments: str = "") -> list[Cause]:
    points = [
        PathPoint(
            run_id=uuid.UUID(int=place + 1),
            revision=f"r{place}",
            position=place,
            environment=environments[place : place + 1] or "A",
            measured_at=START + timedelta(minutes=place),
            value=value,
            samples=(value, value),
            material=of,
        )
        for place, (value, of) in enumerate(told)
    ]
    return [shift.cause for shift in find_drifts(arrange_trend(points), Kind.COUNT)]


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        (A, B, Cause.COMMIT),
        (A, A, Cause.UNKNOWN),
        (A, UPGRADED, Cause.CONFIG),
        (Material(), Material(), Cause.COMMIT),
        (Material(A.own), Material(A.own), Cause.UNKNOWN),
        (A, Material(), Cause.COMMIT),
    ],
)
def test_a_commit_that_changes_no_byte_is_not_blamed(before: Material, after: Material, cause: Cause) -> None:
    assert causes((100, before), (100, before), (105, after), (105, after)) == [cause]


def test_the_same_bytes_in_another_environment_leave_the_configuration_to_blame() -> None:
    assert causes((100, A), (105, A), environments="AB") == [Cause.CONFIG]
    assert causes((100, A), (105, B), environments="AB") == [Cause.BOTH]


def doubted(least: int, most: int, own: str = "a") -> Material:
    return Material(own * 16, "1" * 16, least, most)


@pytest.mark.parametrize(
    ("change", "before", "after", "told"),
    [
        (3, doubted(20, 20), doubted(23, 23, "b"), 0),
        (4, doubted(20, 20), doubted(23, 23, "b"), 1),
        (1, doubted(20, 20), doubted(20, 20, "b"), 1),
        (-1, doubted(20, 20), doubted(23, 23, "b"), 1),
        (40, doubted(0, 40), doubted(0, 40, "b"), 0),
        (41, doubted(0, 40), doubted(0, 40, "b"), 1),
        (1, doubted(0, 0), doubted(0, 0, "b"), 1),
    ],
)
def test_what_undefined_files_can_have_made_is_no_drift(
    change: int, before: Material, after: Material, told: int
) -> None:
    assert len(causes((100, before), (100, before), (100 + change, after), (100 + change, after))) == told
    assert is_no_fact(change, before, after) is not bool(told)


@given(st.integers(-100, 100), st.integers(0, 50), st.integers(0, 50))
def test_doubt_is_even_and_none_without_any(change: int, before: int, after: int) -> None:
    left, right = doubted(before, before), doubted(after, after)
    assert is_no_fact(change, left, right) == is_no_fact(-change, right, left)
    assert not is_no_fact(change, doubted(after, after), right)


def run(faults: int, of: Material, **changes: object) -> Report:
    return reports.report(1, *[faults] * 5, session=SESSION, files=files(of), **changes)


def verdict(base: Report, head: Report) -> tuple[Verdict, str]:
    found = decide(ComparisonRequest(base=base, head=head))
    assert found.verdict is not Verdict.SAME or found.more == 0
    return found.verdict, next(one.sentence for one in found.metrics if one.metric == "minor-faults")


def test_base_and_head_of_the_same_bytes_are_the_same_whatever_was_counted() -> None:
    found, sentence = verdict(run(103, A), run(105, A))
    assert found is Verdict.SAME
    assert "the same bytes" in sentence
    assert "the host's doing" in sentence
    assert verdict(run(103, A), run(105, B))[0] is Verdict.CHANGED
    assert verdict(run(103, A), run(105, UPGRADED))[0] is Verdict.CHANGED
    assert verdict(run(103, Material()), run(105, Material()))[0] is Verdict.CHANGED


def test_the_same_bytes_in_another_environment_or_by_another_command_can_differ() -> None:
    assert verdict(run(103, A), run(105, A, environment=reports.JEMALLOC))[0] is Verdict.CHANGED
    assert verdict(run(103, A, command=("./a",)), run(105, A, command=("./a", "-v")))[0] is Verdict.CHANGED


def test_a_difference_in_doubt_is_the_same() -> None:
    found, sentence = verdict(run(103, doubted(20, 20)), run(105, doubted(23, 23, "b")))
    assert found is Verdict.SAME
    assert "no fact" in sentence
    assert verdict(run(103, doubted(20, 20)), run(105, doubted(20, 20, "b")))[0] is Verdict.CHANGED


def test_what_a_run_was_made_of_is_read_from_its_report() -> None:
    assert material(run(1, A)) == A
    assert material(reports.report(1, 1)) == Material()
    assert system_files(run(1, UPGRADED)) == {"file./lib/libc.so.6": "2" * 16}


def test_a_search_finds_no_culprit_between_commits_of_the_same_bytes() -> None:
    """Twelve commits of two programs, counted at random: only the commit that changed the program is named."""
    nodes = tuple(Node(commit=f"c{place}", parents=(f"c{place - 1}",)) for place in range(1, 12))
    question = Question(good="c0", bad="c11", commits=nodes)
    counted = [103, 97, 99, 100, 102, 104, 203, 197, 199, 200, 202, 204]
    seen = [
        Observation(commit=f"c{place}", value=value, material=(A if place < 6 else B).whole)
        for place, value in enumerate(counted)
    ]
    levels = levels_of_bytes(seen)
    pooled = [one.model_copy(update={"value": levels[one.material]}) for one in seen]
    answer = exact_search.search(question, pooled)
    assert isinstance(answer, Found)
    assert [one.commit for one in answer.culprits] == ["c6"]
    assert isinstance(exact_search.search(question, seen), Found | Measure | Refused)
    assert changed_nothing(seen, [(node.commit, node.parents) for node in nodes]) == {
        f"c{place}" for place in range(1, 12) if place != 6
    }


def test_bytes_that_are_not_known_clear_nobody() -> None:
    seen = [Observation(commit=name, value=1, material="") for name in ("c0", "c1")]
    assert changed_nothing(seen, [("c1", ("c0",))]) == frozenset()
    assert levels_of_bytes(seen) == {}
