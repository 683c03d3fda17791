"""Which files the runner opens of those that a program has mapped: none that the sandbox does not show it."""

import os
import time
from pathlib import Path

import pytest

from runner.dependencies.recorded_lookups import Lookups
from runner.execution.sandbox import Sandbox
from runner.mapped_files.cache_preparation import MAX_BYTES
from runner.mapped_files.prepared_files import KnownFiles, TrialFiles
from runner.perf.faults_by_file import FaultsByFile, FileFaults


def mapped(path: Path, **changes: object) -> FileFaults:
    state = path.stat()
    fields = {"device": (os.major(state.st_dev), os.minor(state.st_dev)), "inode": state.st_ino} | changes
    return FileFaults(path=str(path), faults=1, **fields)  # type: ignore[arg-type]


def opened(tree: Path, sandbox: Sandbox | None, *files: FileFaults) -> list[Path]:
    trial_files = TrialFiles(tree, "case", KnownFiles(), sandbox)
    trial_files.prepare_mapped_files(FaultsByFile(len(files), 0, 0, files), Lookups(), time.time_ns())
    return trial_files.paths


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    made.mkdir()
    (made / "data").write_text("of the tree")
    (tmp_path / "secret").write_text("of the host")
    return made


def test_a_file_that_the_sandbox_hides_is_not_opened_whatever_its_path_and_number(tree: Path) -> None:
    secret = tree.parent / "secret"
    assert opened(tree, Sandbox(), mapped(secret)) == []
    assert opened(tree, None, mapped(secret)) == [secret]
    assert opened(tree, Sandbox(readable_folders=(str(tree.parent),)), mapped(secret)) == [secret]


def test_a_file_of_the_tree_is_opened_if_it_is_the_one_that_was_mapped(tree: Path) -> None:
    data = tree / "data"
    assert opened(tree, Sandbox(), mapped(data)) == [data]
    assert opened(tree, Sandbox(), mapped(data, inode=1)) == []
    if os.major(data.stat().st_dev):
        assert opened(tree, Sandbox(), mapped(data, device=(9, 9))) == []


def test_no_link_leads_out_of_the_tree(tree: Path) -> None:
    (tree / "link").symlink_to(tree.parent / "secret")
    (tree / "folder").symlink_to(tree.parent)
    assert opened(tree, Sandbox(), mapped(tree / "link"), mapped(tree / "folder" / "secret")) == []


@pytest.mark.parametrize("sandbox", [None, Sandbox()], ids=["open", "sandboxed"])
def test_a_file_that_the_program_replaced_by_a_link_to_itself_is_left_out(sandbox: Sandbox | None, tree: Path) -> None:
    data = tree / "data"
    file = mapped(data)
    data.unlink()
    data.symlink_to(data)
    assert opened(tree, sandbox, file) == []


def test_what_every_program_maps_of_the_system_is_opened(tree: Path) -> None:
    settings = Path("/etc/ld.so.cache")
    if not settings.exists():
        pytest.skip("this system has no cache of libraries")
    assert opened(tree, Sandbox(), mapped(settings)) == [settings]


def test_a_name_that_is_too_long_for_a_file_is_not_one_that_was_opened(tree: Path) -> None:
    trial_files = TrialFiles(tree, "case", KnownFiles(), None)
    lookups = Lookups(frozenset({("c", f"{tree}/{'x' * 300}")}))
    trial_files.prepare_mapped_files(FaultsByFile(0, 0, 0, ()), lookups, time.time_ns())
    (remark,) = trial_files.list_remarks()
    assert "neither mapped nor read any file of the build" in remark


def test_a_name_that_is_no_text_is_reported_as_text(tree: Path) -> None:
    file = tree / os.fsdecode(b"caf\xe9.so")
    file.write_text("of the tree")
    os.truncate(file, MAX_BYTES + 1)  # so that a remark names it
    trial_files = TrialFiles(tree, "case", KnownFiles(), None)
    trial_files.prepare_mapped_files(FaultsByFile(1, 0, 0, (mapped(file),)), Lookups(), time.time_ns())
    program_files = trial_files.build_program_files()
    assert program_files is not None
    assert [file.path for file in program_files.mapped] == ["caf\\udce9.so"]
    (remark,) = trial_files.list_remarks()
    assert "caf\\udce9.so" in remark.encode().decode()
