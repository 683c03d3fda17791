"""The lines at the end of an observation."""

import pytest

from runner.attach.live_figures import Figures, Interval, Waits
from runner.cli.attach_lines import describe_growth


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
