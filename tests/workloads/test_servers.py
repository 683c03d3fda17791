"""The servers of the field reports: each window counts what theory demands."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from runner.contract.level import find_majority
from runner.contract.report import Window
from runner.doctor.counting import require_measurable_host
from runner.process_state.process_state import ProcessState
from runner.servers.server_execution import ServerOrder, start_server
from runner.servers.server_processors import split_processors
from runner.workload import list_cases, load_workload

pytestmark = pytest.mark.perf
WORKLOADS = Path(__file__).parents[2] / "workloads"
SERVERS = ("copy_server", "scan_server", "match_server")


def load_windows(folder: Path, name: str, windows: int, **parameters: object) -> tuple[Window, ...]:
    """Build a server and load it in one start of the case with some parameters."""
    require_measurable_host()
    tree = Path(shutil.copytree(WORKLOADS / name, folder / name))
    subprocess.run(["make", "-s"], cwd=tree, check=True)
    workload = load_workload(WORKLOADS / name)
    case = next(case for case in list_cases(workload) if parameters.items() <= case.parameters.items())
    cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    state = ProcessState(huge_pages="never", cpus=cpus)
    with start_server(ServerOrder(workload, case, tree, state, load_cpus, n_windows=windows)) as server:
        return server.run().windows


def find_unexplained_faults(windows: tuple[Window, ...]) -> int | float:
    """Return the faults beyond theory that most windows have, without the first, in which threads get their stacks."""
    unexplained = [window.readings["unexplained-faults"].value for window in windows[1:] or windows]
    level, _ = find_majority([value for value in unexplained if value is not None]) or (None, 0)
    assert level is not None
    return level


@pytest.mark.parametrize("name", SERVERS)
def test_every_case_has_its_theory(name: str) -> None:
    assert all("theory" in case.parameters for case in list_cases(load_workload(WORKLOADS / name)))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("copy_server", {"buffer": "mapped"}),
        pytest.param("copy_server", {"buffer": "kept"}, marks=pytest.mark.thorough),
        pytest.param("copy_server", {"buffer": "malloc", "allocator": "glibc"}, marks=pytest.mark.thorough),
        pytest.param("scan_server", {"access": "mmap", "clients": 1}, marks=pytest.mark.thorough),
        ("scan_server", {"access": "read", "clients": 2}),
    ],
)
def test_a_window_counts_theory_to_the_fault(tmp_path: Path, name: str, parameters: dict[str, object]) -> None:
    assert find_unexplained_faults(load_windows(tmp_path, name, 4, **parameters)) == 0


def test_the_first_burst_of_a_matcher_pays_for_the_gallery(tmp_path: Path) -> None:
    (window,) = load_windows(tmp_path / "first", "match_server", 1, fill="first_request", clients=8)
    assert 0 <= (window.readings["unexplained-faults"].value or 0) <= 40
    (window,) = load_windows(tmp_path / "startup", "match_server", 1, fill="startup", clients=8)
    assert (window.readings["minor-faults"].value or 0) <= 40


def test_the_servers_share_their_sources() -> None:
    for file in ("serve.h", "load.c"):
        assert len({(WORKLOADS / name / file).read_text() for name in SERVERS}) == 1
