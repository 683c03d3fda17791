"""What a killed command left behind is cleared by the next one; what others use stays."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.host.cleanup import remove_leftovers
from runner.settings import Settings
from runner.subject.build_folders import BuildFolders
from runner.system.processes import get_process_name, read_own_name

DEAD = get_process_name(2**22 + 1)
"""No process has this number: it is larger than the kernel's limit."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_folders_of_dead_processes_go_and_others_stay(temporary: Path, tmp_path: Path) -> None:
    kept = [
        "faultwatch-bench-abc",
        f"faultwatch-{read_own_name()}-abc",
        f"faultwatch-{get_process_name(1)}-abc",
        "other",
    ]
    for name in (*kept, f"faultwatch-{DEAD}-abc"):
        (temporary / name / "inside").mkdir(parents=True)
    (tmp_path / "target").mkdir()
    (temporary / f"faultwatch-{DEAD}-link").symlink_to(tmp_path / "target")
    remove_leftovers(Settings(tmp_path / "home", None, "box"))
    assert {path.name for path in temporary.iterdir()} == {*kept, f"faultwatch-{DEAD}-link"}
    assert (tmp_path / "target").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user")
def test_folders_of_other_users_stay(temporary: Path, tmp_path: Path) -> None:
    theirs = temporary / f"faultwatch-{DEAD}-abc"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    remove_leftovers(Settings(tmp_path / "home", None, "box"))
    assert theirs.exists()


def test_unfinished_builds_of_dead_processes_go(temporary: Path, tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", None, "box")
    ours = BuildFolders(settings.builds).lock_build_folder("ours")
    (ours / "tree").mkdir(parents=True)
    code = (
        "import os, sys; from pathlib import Path; from runner.subject.build_folders import BuildFolders\n"
        "place = BuildFolders(Path(sys.argv[1])).lock_build_folder('theirs'); (place / 'tree').mkdir(parents=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code, str(settings.builds)], cwd=root, check=False)
    assert len(list(settings.builds.glob("*/*/tree"))) == 2
    remove_leftovers(settings)
    assert list(settings.builds.glob("*/*/tree")) == [ours / "tree"]


@pytest.mark.skipif(os.geteuid() != 0, reason="makes control groups")
def test_control_groups_of_dead_processes_go_with_the_processes_in_them(temporary: Path, tmp_path: Path) -> None:
    mount = Path("/sys/fs/cgroup/memory")
    parent = mount if mount.exists() else Path("/sys/fs/cgroup")
    group = parent / f"faultwatch-{DEAD}-1"
    group.mkdir()
    process = subprocess.Popen(["sleep", "1000"])
    (group / "cgroup.procs").write_text(str(process.pid))
    remove_leftovers(Settings(tmp_path / "home", None, "box"))
    assert process.wait(60) == -9
    assert not group.exists()
