"""What processes have used, by their entries in /proc."""

import os
from pathlib import Path

from runner.servers.process_figures import ProcessFigures, ThreadActivity, read_activity, read_process_figures


def test_the_own_process_has_used_something() -> None:
    figures = read_process_figures([os.getpid()])
    assert figures.user > 0
    assert figures.resident > 1 << 20
    activity = read_activity([os.getpid()])
    assert activity.nanoseconds > 0
    assert activity.is_runnable, "who reads it runs"


def test_a_name_with_brackets_and_spaces_is_read(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    fields = " ".join(str(number) for number in range(4, 25))
    (tmp_path / "7" / "stat").write_text(f"7 (a) b ( c) S {fields}\n")
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    assert read_process_figures([7], tmp_path) == ProcessFigures((14 + 16) / ticks, (15 + 17) / ticks, 24 * page)


def test_processes_that_have_ended_count_nothing() -> None:
    assert read_process_figures([2**22]) == ProcessFigures()
    assert read_activity([2**22]) == ThreadActivity()
