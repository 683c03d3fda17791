"""A comparison on a terminal: what decides, what else differs and in which unit, and in one line what was not there."""

import pytest

from runner.cli.comparison_tables import show_comparison
from runner.contract.comparison import Comparison, MetricVerdict, Side, Verdict
from runner.measuring.comparison import Compared
from tests.runner.sample_reports import report


def row(name: str, base: float, head: float, *, counts: bool = False) -> MetricVerdict:
    sides = [Side(level=level, low=level, high=level, n=2, agree=2) for level in (base, head)]
    return MetricVerdict(
        metric=name,
        verdict=Verdict.SAME if base == head else Verdict.CHANGED,
        counts=counts,
        rule="exact",
        base=sides[0],
        head=sides[1],
        change=head - base,
        percent=None,
        direction=None,
        bounds=None,
        threshold=None,
        sentence="As it is.",
    )


def test_a_large_difference_that_is_none_says_why_in_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    update = {"verdict": Verdict.SAME, "although": "same bytes"}
    rows = (
        row("minor-faults", 73, 9000, counts=True).model_copy(update=update),
        row("major-faults", 0, 0, counts=True),
    )
    show_comparison(Compared(report(), report(), Comparison(verdict=Verdict.SAME, more=0, metrics=rows, knobs=())))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "minor-faults 73 9,000 +8,927 same: same bytes" in lines
    assert "major-faults 0 0 0 same" in lines


def test_what_decides_is_a_row_and_what_was_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        row("context-switches", 0, 0),
        row("task-clock", 0.5, 0.7),
        row("max-rss", 4096, 8192),
        row("minor-faults", 73, 77, counts=True),
        row("major-faults", 0, 0, counts=True),
    )
    decided = Comparison(verdict=Verdict.CHANGED, more=0, metrics=rows, knobs=())
    show_comparison(Compared(report(), report(), decided))
    text = capsys.readouterr().out
    told = [line.split()[:3] for line in text.rpartition("─")[2].partition("0 on both sides")[0].splitlines()]
    assert [line for line in told if line] == [
        ["minor-faults", "73", "77"],
        ["major-faults", "0", "0"],
        ["task-clock", "500", "ms"],
        ["max-rss", "4", "KiB"],
    ]
    assert "0 on both sides: context-switches\n" in text
