"""Recordings are read without taking time from the host's own work."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.attach.reading_priority import read_idle_seconds
from runner.system.tree import Tree

SCRIPT = """
import os
from runner.attach.reading_priority import lower_priority
lower_priority({idle})
print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0))
"""


@pytest.mark.parametrize(("idle", "expected"), [(1.5, (os.SCHED_IDLE, 0)), (0.0, (os.SCHED_OTHER, 10))])
def test_idle_time_is_enough_only_where_there_is_some(idle: float, expected: tuple[int, int]) -> None:
    words = [sys.executable, "-c", SCRIPT.format(idle=idle)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert tuple(map(int, done.stdout.split())) == expected


def test_the_idle_time_of_all_processors_is_read(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/stat").write_text("cpu  100 0 200 3000 500 0 7 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    assert read_idle_seconds(Tree(tmp_path)) == pytest.approx(3500 / os.sysconf("SC_CLK_TCK"))
