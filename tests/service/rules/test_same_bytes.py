"""Blame, comparisons and searches between runs of the same bytes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import ComparisonRequest, Kind, Report, Verdict
from runner.contract.files import CacheState, MappedFile, ProgramFiles, UncertainFaults
from service.rules.bisect import exact_search
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Found, Measure, Observation, Question, Refused
from service.rules.comparison.in_turns import decide
from service.rules.same_bytes import (
    ProgramBytes,
    commits_without_change,
    is_uncertain,
    levels_by_bytes,
    program_bytes,
    system_file_knobs,
)
from service.rules.series.find_drifts import find_drifts
from service.rules.series.tracks import PathPoint, arrange_trend
from service.schemas.history import Cause
from tests.service import reports

A, B = ProgramBytes("a" * 16, "1" * 16), ProgramBytes("b" * 16, "1" * 16)
UPGRADED = ProgramBytes("a" * 16, "2" * 16)
START = datetime(2025, 1, 1, tzinfo=UTC)
SESSION = uuid.UUID(int=1)


def files(of: ProgramBytes) -> ProgramFiles:
    library = MappedFile(path="/lib/libc.so.6", own=False, digest=of.system, cache=CacheState.PREPARED)
    uncertain = UncertainFaults(least=of.least_uncertain, most=of.most_uncertain)
    return ProgramFiles(mapped=(library,), own_bytes=of.own, system_bytes=of.system, uncertain_faults=uncertain)


def causes(*counts: tuple[int, ProgramBytes], environments: str = "") -> list[Cause]:
    points = [
        PathPoint(
            run_id=uuid.UUID(int=place + 1),
            revision=f"r{place}",
            position=place,
            environment=environments[place : place + 1] or "A",
            measured_at=START + timedelta(minutes=place),
            value=value,
            samples=(value, value),
            program_bytes=of,
        )
        for place, (value, of) in enumerate(counts)
    ]
    return [shift.cause for shift in find_drifts(arrange_trend(points), Kind.COUNT)]


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        (A, B, Cause.COMMIT),
        (A, A, Cause.UNKNOWN),
        (A, UPGRADED, Cause.CONFIG),
        (ProgramBytes(), ProgramBytes(), Cause.COMMIT),
        (ProgramBytes(A.own), ProgramBytes(A.own), Cause.UNKNOWN),
        (A, ProgramBytes(), Cause.COMMIT),
    ],
)
def test_a_commit_that_changes_no_byte_is_not_blamed(before: ProgramBytes, after: ProgramBytes, cause: Cause) -> None:
    assert causes((100, before), (100, before), (105, after), (105, after)) == [cause]


def test_the_same_bytes_in_another_environment_leave_the_configuration_to_blame() -> None:
    assert causes((100, A), (105, A), environments="AB") == [Cause.CONFIG]
    assert causes((100, A), (105, B), environments="AB") == [Cause.BOTH]


def uncertain(least: int, most: int, own: str = "a") -> ProgramBytes:
    return ProgramBytes(own * 16, "1" * 16, least, most)


@pytest.mark.parametrize(
    ("change", "before", "after", "drifts"),
    [
        (3, uncertain(20, 20), uncertain(23, 23, "b"), 0),
        (4, uncertain(20, 20), uncertain(23, 23, "b"), 1),
        (1, uncertain(20, 20), uncertain(20, 20, "b"), 1),
        (-1, uncertain(20, 20), uncertain(23, 23, "b"), 1),
        (40, uncertain(0, 40), uncertain(0, 40, "b"), 0),
        (41, uncertain(0, 40), uncertain(0, 40, "b"), 1),
        (1, uncertain(0, 0), uncertain(0, 0, "b"), 1),
    ],
)
def test_a_change_that_unprepared_files_can_explain_is_no_drift(
    change: int, before: ProgramBytes, after: ProgramBytes, drifts: int
) -> None:
    assert len(causes((100, before), (100, before), (100 + change, after), (100 + change, after))) == drifts
    assert is_uncertain(change, before, after) is not bool(drifts)


@given(st.integers(-100, 100), st.integers(0, 50), st.integers(0, 50))
def test_uncertainty_is_symmetric_and_needs_a_range(change: int, before: int, after: int) -> None:
    left, right = uncertain(before, before), uncertain(after, after)
    assert is_uncertain(change, left, right) == is_uncertain(-change, right, left)
    assert not is_uncertain(change, uncertain(after, after), right)


def run(faults: int, of: ProgramBytes, **changes: object) -> Report:
    return reports.report(1, *[faults] * 30, session=SESSION, files=files(of), **changes)


def verdict(base: Report, head: Report) -> tuple[Verdict, str]:
    comparison = decide(ComparisonRequest(base=base, head=head))
    assert comparison.verdict is not Verdict.SAME or comparison.more == 0
    sentences = {metric.metric: metric.sentence for metric in comparison.metrics}
    return comparison.verdict, sentences["minor-faults"]


def test_base_and_head_of_the_same_bytes_are_the_same_whatever_was_counted() -> None:
    found, sentence = verdict(run(103, A), run(105, A))
    assert found is Verdict.SAME
    assert "the same bytes" in sentence
    assert "The host caused" in sentence
    assert verdict(run(103, A), run(105, B))[0] is Verdict.CHANGED
    assert verdict(run(103, A), run(105, UPGRADED))[0] is Verdict.CHANGED
    assert verdict(run(103, ProgramBytes()), run(105, ProgramBytes()))[0] is Verdict.CHANGED


def test_a_difference_that_is_none_says_why_in_its_row() -> None:
    def although(base: Report, head: Report) -> str | None:
        metrics = decide(ComparisonRequest(base=base, head=head)).metrics
        return next(metric.although for metric in metrics if metric.metric == "minor-faults")

    assert although(run(103, A), run(105, A)) == "same bytes"
    assert although(run(103, A), run(103, A)) is None
    assert although(run(103, A), run(105, B)) is None
    assert although(run(103, uncertain(20, 20)), run(105, uncertain(23, 23, "b"))) == "unprepared files"


def test_the_same_bytes_in_another_environment_or_by_another_command_can_differ() -> None:
    assert verdict(run(103, A), run(105, A, environment=reports.JEMALLOC))[0] is Verdict.CHANGED
    assert verdict(run(103, A, command=("./a",)), run(105, A, command=("./a", "-v")))[0] is Verdict.CHANGED


def test_an_uncertain_difference_is_the_same() -> None:
    found, sentence = verdict(run(103, uncertain(20, 20)), run(105, uncertain(23, 23, "b")))
    assert found is Verdict.SAME
    assert "uncertain" in sentence
    assert verdict(run(103, uncertain(20, 20)), run(105, uncertain(20, 20, "b")))[0] is Verdict.CHANGED


def test_the_bytes_of_a_run_are_read_from_its_report() -> None:
    assert program_bytes(run(1, A)) == A
    assert program_bytes(reports.report(1, 1)) == ProgramBytes()
    assert system_file_knobs(run(1, UPGRADED)) == {"file./lib/libc.so.6": "2" * 16}


def test_a_search_finds_no_culprit_between_commits_of_the_same_bytes() -> None:
    """Twelve commits of two programs, counted at random: only the commit that changed the program is named."""
    nodes = tuple(Node(commit=f"c{place}", parents=(f"c{place - 1}",)) for place in range(1, 12))
    question = Question(good="c0", bad="c11", commits=nodes)
    counted = [103, 97, 99, 100, 102, 104, 203, 197, 199, 200, 202, 204]
    seen = [
        Observation(commit=f"c{place}", value=value, bytes_key=(A if place < 6 else B).key)
        for place, value in enumerate(counted)
    ]
    levels = levels_by_bytes(seen)
    pooled = [run.model_copy(update={"value": levels[run.bytes_key]}) for run in seen]
    answer = exact_search.search(question, pooled)
    assert isinstance(answer, Found)
    assert [culprit.commit for culprit in answer.culprits] == ["c6"]
    assert isinstance(exact_search.search(question, seen), Found | Measure | Refused)
    assert commits_without_change(seen, [(node.commit, node.parents) for node in nodes]) == {
        f"c{place}" for place in range(1, 12) if place != 6
    }


def test_unknown_bytes_clear_no_commit() -> None:
    seen = [Observation(commit=name, value=1, bytes_key="") for name in ("c0", "c1")]
    assert commits_without_change(seen, [("c1", ("c0",))]) == frozenset()
    assert levels_by_bytes(seen) == {}


def test_of_the_same_bytes_few_pairs_are_enough_and_no_sentence_asks_for_more() -> None:
    few = [run(103, of).model_copy(update={"samples": run(103, of).samples[:2]}) for of in (A, A, B)]
    comparison = decide(ComparisonRequest(base=few[0], head=few[1]))
    assert (comparison.verdict, comparison.more, comparison.same_bytes) == (Verdict.SAME, 0, True)
    assert not [metric.sentence for metric in comparison.metrics if "too few" in metric.sentence]
    other = decide(ComparisonRequest(base=few[0], head=few[2]))
    assert not other.same_bytes
    assert other.more
    assert [metric.sentence for metric in other.metrics if "too few" in metric.sentence]
