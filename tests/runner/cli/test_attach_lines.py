"""The lines at the end of an observation."""

import pytest

from runner.attach.live_figures import Figures, Interval, Waits
from runner.attach.observe import LiveLine
from runner.cli.attach_lines import describe_growth, format_live_line


@pytest.mark.parametrize(
    ("growth", "clause"),
    [
        (1 << 30, "; the resident memory grew by 1 GiB (128 MiB per second)"),
        (-(8 << 20), "; the resident memory shrank by 8 MiB (1 MiB per second)"),
        (500_000, ""),
    ],
)
def test_a_growth_of_the_resident_memory_is_said_with_its_rate(growth: int, clause: str) -> None:
    assert describe_growth(Interval(8.0, Figures(), growth, Waits())) == clause


@pytest.mark.parametrize(("threads", "text"), [(1, "  1 thread  "), (12, "  12 threads  ")])
def test_the_number_of_threads_agrees_with_its_noun(threads: int, text: str) -> None:
    line = LiveLine(3.0, Interval(1.0, Figures(threads=threads), 0, Waits()), cost=0.0, own_share=0.0)
    assert text in format_live_line(line)
