"""How long a history will take, from what it has taken so far."""

import pytest

from runner.cli.progress_bar import time_left


@pytest.mark.parametrize(
    ("seconds", "done", "runs", "said"),
    [
        (0.0, 0, 10, ""),
        (1.0, 1, 5, ""),
        (14.0, 2, 7, "about 40 s left"),
        (14.0, 2, 60, "about 7 min left"),
        (100.0, 1, 100, "about 2.8 h left"),
        (600.0, 60, 60, ""),
    ],
)
def test_time_left(seconds: float, done: int, runs: int, said: str) -> None:
    assert time_left(seconds, done, runs) == said
