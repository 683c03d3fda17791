"""What processes have used, from ``/proc``."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.attach.live_figures import Figures, compute_interval, read_figures, sample_waits
from runner.attach.stable_threads import list_stable_threads
from runner.system.tree import Tree

COUNTS = st.integers(0, 2**40)
FIGURES = st.builds(
    Figures, minor=COUNTS, major=COUNTS, user=st.floats(0, 1e6), system=st.floats(0, 1e6), resident=COUNTS
)


def make_process(root: Path, pid: int, state: str = "S", *, minor: int = 0, child_minor: int = 0) -> Path:
    folder = root / "proc" / str(pid)
    (folder / "task" / str(pid)).mkdir(parents=True)
    fields = ["0"] * 50
    fields[0], fields[7], fields[8], fields[9], fields[11], fields[12] = (
        state,
        str(minor),
        str(child_minor),
        "2",
        "300",
        "100",
    )
    fields[17], fields[21] = "4", "10"
    (folder / "stat").write_text(f"{pid} (x) y) {' '.join(fields)}")
    (folder / "task" / str(pid) / "schedstat").write_text("1000 5 7")
    return folder


def test_children_that_have_ended_stay_in_the_sum(tmp_path: Path) -> None:
    make_process(tmp_path, 5, minor=100, child_minor=40)
    make_process(tmp_path, 6, "Z", minor=8)
    figures = read_figures(Tree(tmp_path), [5, 6, 7])
    assert (figures.minor, figures.major, figures.processes) == (148, 4, 1)
    assert figures.resident == 10 * os.sysconf("SC_PAGE_SIZE")
    assert figures.switches == 7 * 4
    assert figures.cpu == pytest.approx(2 * 400 / os.sysconf("SC_CLK_TCK"))


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("vm_mmap_pgoff", "lock"),
        ("__vm_munmap", "lock"),
        ("lock_mm_and_find_vma", "lock"),
        ("rwsem_down_read_slowpath", "lock"),
        ("folio_wait_bit_common", "storage"),
        ("do_epoll_wait", ""),
        ("0", ""),
    ],
)
def test_what_a_thread_waits_for(tmp_path: Path, place: str, kind: str) -> None:
    (make_process(tmp_path, 5) / "task" / "5" / "wchan").write_text(place)
    waits = sample_waits(Tree(tmp_path), [5])
    assert (waits.samples, waits.lock, waits.storage) == (1, kind == "lock", kind == "storage")


@given(FIGURES, FIGURES)
def test_nothing_used_is_below_zero(before: Figures, after: Figures) -> None:
    interval = compute_interval(before, after, 1.0)
    used = interval.used_figures
    assert min(used.minor, used.major, used.user, used.system, used.switches) >= 0
    assert 0 <= interval.system_share <= 1
    assert interval.resident_growth == after.resident - before.resident


def test_this_process_is_read() -> None:
    figures = read_figures(Tree(), [os.getpid()])
    assert figures.processes == 1
    assert figures.faults > 100
    assert os.getpid() in list_stable_threads(Tree(), [os.getpid()])
