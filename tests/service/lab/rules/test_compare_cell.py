"""How sure a cell's difference from the default is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.lab.rules.compare_cell import Readings, compare_metric
from service.lab.schemas import Effect, LabCertainty


def test_interleaved_counts_that_repeat_are_exact_to_the_fault() -> None:
    found = compare_metric("minor-faults", Readings([500] * 24), Readings([499] * 24), interleaved=True, n_cells=30)
    assert (found.change, found.certainty, found.effect) == (-1, LabCertainty.EXACT, Effect.BETTER)


def test_interleaved_times_have_bounds_and_are_decided_by_them_alone() -> None:
    slow = [1.0 + number / 1000 for number in range(24)]
    faster = compare_metric(
        "sys-time", Readings(slow), Readings([value / 2 for value in slow]), interleaved=True, n_cells=30
    )
    assert faster.effect is Effect.BETTER
    assert faster.certainty is LabCertainty.INTERVAL
    assert faster.bounds is not None
    assert faster.bounds[1] < 0
    noisy = compare_metric("sys-time", Readings(slow), Readings([*slow[12:], *slow[:12]]), interleaved=True)
    assert noisy.effect is not Effect.BETTER


@pytest.mark.parametrize(
    ("name", "default", "cell"),
    [
        ("minor-faults", [500] * 24, [500] * 24),
        ("minor-faults", [500] * 24, [499] * 24),
        ("minor-faults", [500] * 4, [500] * 4),
        ("minor-faults", [500] * 4, [499] * 4),
        ("minor-faults", list(range(500, 524)), list(range(523, 499, -1))),
        ("minor-faults", list(range(500, 524)), list(range(600, 624))),
        ("minor-faults", [500] * 100, [500, 900, 500, 500] * 25),
        ("sys-time", [1.0] * 24, [2.0] * 24),
        ("sys-time", [0.0] * 24, [2.0] * 24),
        ("sys-time", [1.0] * 2, [2.0] * 2),
        ("sys-time", [None] * 2, [2.0] * 2),
    ],
)
def test_sentences_speak_of_the_default_and_the_cell(
    name: str, default: list[float | None], cell: list[float | None]
) -> None:
    sentence = compare_metric(name, Readings(default), Readings(cell), interleaved=True).sentence
    assert not re.search(r"\b(?:base|head)\b", sentence, re.IGNORECASE), sentence


def test_less_throughput_is_worse() -> None:
    rate = [100.0 + number for number in range(24)]
    assert (
        compare_metric("throughput", Readings(rate), Readings([v / 2 for v in rate]), interleaved=True).effect
        is Effect.WORSE
    )


def test_too_few_pairs_decide_nothing() -> None:
    found = compare_metric("sys-time", Readings([1.0] * 4), Readings([2.0] * 4), interleaved=True)
    assert (found.effect, found.certainty) == (Effect.OPEN, LabCertainty.OPEN)


@pytest.mark.parametrize(
    ("name", "cell", "effect"),
    [
        ("minor-faults", [400, 400], Effect.BETTER),
        ("minor-faults", [500, 500], Effect.SAME),
        ("minor-faults", [484, 484], Effect.OPEN),  # as far apart as two sessions of the same bytes
        ("minor-faults", [400], Effect.OPEN),  # one sample repeats nothing
        ("minor-faults", [400, 410], Effect.OPEN),
        ("sys-time", [400, 400], Effect.OPEN),
    ],
)
def test_runs_of_different_sessions_compare_in_counts_alone(name: str, cell: list[int], effect: Effect) -> None:
    assert compare_metric(name, Readings([500, 500]), Readings(cell), interleaved=False).effect is effect


def test_what_does_not_compare_shows_its_level_and_the_reason() -> None:
    found = compare_metric(
        "minor-faults", Readings([5, 5]), Readings([900, 900]), interleaved=True, objection="other bytes"
    )
    assert (found.level, found.certainty, found.effect, found.sentence) == (900, None, Effect.OPEN, "other bytes")


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=40), st.integers(1, 119))
def test_equal_sides_are_never_better_or_worse(values: list[float], cells: int) -> None:
    for name in ("minor-faults", "sys-time", "max-rss"):
        found = compare_metric(name, Readings(values), Readings(values), interleaved=True, n_cells=cells)
        assert found.effect in {Effect.SAME, Effect.OPEN}
