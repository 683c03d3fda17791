"""A group with a limit: on made-up trees of either version, and on this machine where it is allowed."""

import mmap
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.perf.perf_stat import count_faults
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.process_state import ProcessState
from runner.system.processes import read_own_name
from runner.system.tree import Tree

MIB = 1 << 20


def tree(root: Path, groups: str, *folders: str) -> Tree:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for folder in folders:
        (root / "sys/fs/cgroup" / folder).mkdir(parents=True)
    return Tree(root)


def test_version_2(tmp_path: Path) -> None:
    group = MemoryGroup(64 * MIB + 5, tree(tmp_path, "0::/user/job\n", "user/job"))
    assert group.read_value() == "none"
    group.apply()
    assert group.folder
    assert group.folder.parent == tmp_path / "sys/fs/cgroup/user/job"
    assert (group.folder / "memory.max").read_text() == group.read_value() == group.target == str(64 * MIB)
    assert (group.folder.parent / "cgroup.subtree_control").read_text() == "+memory"


def test_version_1_beside_version_2(tmp_path: Path) -> None:
    made = tree(tmp_path, "4:memory:/job\n1:cpu:/\n0::/\n", "memory/job", "unified")
    group = MemoryGroup(64 * MIB, made)
    group.apply()
    assert group.folder
    assert group.folder.parent == tmp_path / "sys/fs/cgroup/memory/job"
    assert (group.folder / "memory.limit_in_bytes").read_text() == str(64 * MIB)


def test_version_2_limits_processes_in_the_same_group(tmp_path: Path) -> None:
    group = MemoryGroup(MIB, tree(tmp_path, "0::/job\n", "job"))
    assert not group.limit_processes(100)
    group.apply()
    assert group.folder
    assert not group.limit_processes(100)
    (group.folder / "pids.max").touch()
    assert group.limit_processes(100)
    assert (group.folder / "pids.max").read_text() == "100"


def test_version_1_limits_processes_in_another_hierarchy(tmp_path: Path) -> None:
    made = tree(tmp_path, "4:memory:/job\n5:pids:/other\n", "memory/job", "pids/other")
    group = MemoryGroup(MIB, made)
    group.apply()
    assert group.limit_processes(100)
    (folder,) = (entry for entry in (tmp_path / "sys/fs/cgroup/pids/other").iterdir() if entry.is_dir())
    assert (folder / "pids.max").read_text() == "100"
    group.add_process(17)
    assert group.folder
    assert [(part / "cgroup.procs").read_text() for part in (group.folder, folder)] == ["17", "17"]


def test_where_processes_cannot_be_limited_nothing_is_left(tmp_path: Path) -> None:
    group = MemoryGroup(MIB, tree(tmp_path, "4:memory:/job\n", "memory/job"))
    group.apply()
    assert not group.limit_processes(100)
    assert len(list((tmp_path / "sys/fs/cgroup").rglob("faultwatch-*"))) == 1


def test_what_a_killed_runner_left_is_removed(tmp_path: Path) -> None:
    made = tree(tmp_path, "0::/job\n", "job")
    folder = tmp_path / "sys/fs/cgroup/job"
    process, start, machine = read_own_name().split("-")
    alive, gone = f"faultwatch-{process}-{start}-{machine}-1", f"faultwatch-{process}-{int(start) + 1}-{machine}-1"
    for name in (gone, alive, "faultwatch-of-others", "other"):
        (folder / name).mkdir()
    MemoryGroup(MIB, made).apply()
    left = {path.name for path in folder.iterdir() if path.is_dir()}
    assert left >= {alive, "faultwatch-of-others", "other"}
    assert gone not in left


def test_what_another_user_left_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError(pid, number)

    made = tree(tmp_path, "0::/job\n", "job")
    process, start, machine = read_own_name().split("-")
    left = tmp_path / f"sys/fs/cgroup/job/faultwatch-{process}-{int(start) + 1}-{machine}-1"
    left.mkdir()
    (left / "cgroup.procs").write_text("4194304\n")
    monkeypatch.setattr("os.kill", refuse)
    monkeypatch.setattr("runner.process_state.memory_group._KILL_TIMEOUT_SECONDS", 0.0)
    MemoryGroup(None, made).remove_abandoned_groups()
    assert left.is_dir()


def test_a_container_shows_only_the_groups_that_are_mounted_there(tmp_path: Path) -> None:
    group = MemoryGroup(MIB, tree(tmp_path, "0::/outside/of/this\n", "."))
    group.apply()
    assert group.folder
    assert group.folder.parent == tmp_path / "sys/fs/cgroup"


def test_a_machine_without_groups_refuses(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no control group"):
        MemoryGroup(MIB, tree(tmp_path, "")).apply()


def test_a_group_that_takes_no_limit_is_removed_and_the_one_around_it_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tree(tmp_path, "0::/user\n", "user")
    real = Path.write_text

    def write(self: Path, text: str, **options: str) -> int:
        if self.name == "memory.max" and self.parent.parent.name == "user":
            raise PermissionError
        return real(self, text, **options)

    monkeypatch.setattr(Path, "write_text", write)
    group = MemoryGroup(MIB, made)
    group.apply()
    assert group.folder
    assert group.folder.parent == tmp_path / "sys/fs/cgroup"
    assert not [entry for entry in (tmp_path / "sys/fs/cgroup/user").iterdir() if entry.is_dir()]


@pytest.fixture
def group() -> MemoryGroup:
    made = MemoryGroup(48 * MIB)
    try:
        made.apply()
    except OSError as error:
        pytest.skip(f"no group can be made here: {error}")
    yield made
    made.undo()


def inside(group: MemoryGroup) -> list[str]:
    return ["sh", "-c", 'echo 0 >"$0" && exec "$@"', f"{group.folder}/cgroup.procs"]


EAT = f"import mmap; m = mmap.mmap(-1, 96 << 20); [m.__setitem__(i, 1) for i in range(0, 96 << 20, {mmap.PAGESIZE})]"


def test_what_takes_more_than_the_limit_is_ended_and_the_runner_is_not(group: MemoryGroup) -> None:
    assert group.read_value() == str(48 * MIB)
    done = subprocess.run([*inside(group), sys.executable, "-S", "-c", EAT], check=False)
    assert done.returncode == -9
    assert subprocess.run([*inside(group), "true"], check=False).returncode == 0


def test_undo_ends_what_is_left_and_removes_the_group(group: MemoryGroup) -> None:
    left = subprocess.Popen([*inside(group), "sleep", "60"])
    assert group.folder
    folder = group.folder
    while not (folder / "cgroup.procs").read_text():
        time.sleep(0.01)
    group.undo()
    assert left.wait(5) == -9
    assert not folder.exists()
    assert group.read_value() == "none"


@pytest.mark.perf
def test_a_limit_that_is_not_reached_does_not_move_the_count(group: MemoryGroup, tmp_path: Path) -> None:
    # It maps no file that other processes of the host bring into memory or out of it.
    subprocess.run(
        ["cc", "-static", "-x", "c", "-o", "alone", "-"], input=b"int main(void){}", cwd=tmp_path, check=True
    )

    def least(state: ProcessState) -> int:
        runs = (count_faults(["./alone"], directory=tmp_path, state=state, timeout=20) for _ in range(3))
        return min(int(run.sample.readings["minor-faults"].value or 0) for run in runs)

    assert least(ProcessState(memory_limit=256 * MIB)) == least(ProcessState())


@pytest.mark.perf
def test_a_program_that_needs_more_fails(group: MemoryGroup, tmp_path: Path) -> None:
    with pytest.raises(ExecutionFailure, match="SIGKILL"):
        count_faults(
            [sys.executable, "-S", "-c", EAT], directory=tmp_path, state=ProcessState(memory_limit=48 * MIB), timeout=30
        )
