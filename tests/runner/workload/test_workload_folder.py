"""``{workload}`` and ``{home}``: what they stand for, and what they count for."""

import errno
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from runner.errors import FaultwatchError
from runner.workload import Workload, list_cases, load_workload
from runner.workload.bound_case import bind_case
from runner.workload.workload_folder import get_build_command, get_build_path, get_build_variables, provide_own_folder

TEXT = """
[workload]
name = "w"
[build]
command = "make INPUT={workload}/input"
[build.environment]
PATH = "{home}/.cargo/bin:/usr/bin"
[run]
command = ["./w", "{workload}/deep/input", "{n}", "{{workload}}"]
[matrix]
n = [1]
"""


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workload:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", "/home/somebody")
    folder = tmp_path / "faultwatch"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "input").write_text("one")
    (folder / "deep" / "driver").write_text("#!/bin/sh\n")
    (folder / "deep" / "driver").chmod(0o700)
    (folder / "workload.toml").write_text(TEXT)
    return load_workload(folder)


def test_a_program_sees_a_copy_that_everybody_can_read(workload: Workload) -> None:
    folder = provide_own_folder(workload)
    assert folder
    assert (folder / "deep" / "input").read_text() == "one"
    assert (folder / "deep" / "input").stat().st_mode & 0o777 == 0o444
    assert (folder / "deep" / "driver").stat().st_mode & 0o777 == 0o555
    assert folder.stat().st_mode & 0o777 == 0o755
    assert not (folder / "workload.toml").exists()
    assert bind_case(workload, list_cases(workload)[0]).command == ("./w", f"{folder}/deep/input", "1", "{workload}")
    assert get_build_command(workload) == ("make", f"INPUT={folder}/input")


def test_another_content_is_another_definition_in_another_folder(workload: Workload) -> None:
    first = provide_own_folder(workload)
    (workload.path.parent / "deep" / "input").write_text("two")
    assert provide_own_folder(workload) == first, "the definition of a session stays"
    changed = load_workload(workload.path)
    second = provide_own_folder(changed)
    assert first
    assert second
    assert changed.definition != workload.definition
    assert (first / "deep" / "input").read_text() == "one"
    assert (second / "deep" / "input").read_text() == "two"


def test_files_that_change_during_a_session_are_not_taken_for_those_of_the_definition(workload: Workload) -> None:
    assert workload.definition
    (workload.path.parent / "deep" / "input").write_text("two")
    with pytest.raises(FaultwatchError, match="changed while the command was running"):
        provide_own_folder(workload)


def test_a_full_disk_is_told(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left on device"):
        provide_own_folder(workload)


def test_a_workload_that_does_not_name_its_folder_does_not_depend_on_it(workload: Workload, tmp_path: Path) -> None:
    file = workload.path
    file.write_text('[workload]\nname = "w"\n[run]\ncommand = "./w {{workload}}"\n')
    plain = load_workload(file)
    assert provide_own_folder(plain) is None
    (file.parent / "deep" / "input").write_text("two")
    assert load_workload(file).definition == plain.definition


def test_the_home_is_that_of_the_runners_user(workload: Workload) -> None:
    assert get_build_path(workload) == "/home/somebody/.cargo/bin:/usr/bin"
    assert get_build_variables(workload, "/tree")["HOME"] == "/tree"


def test_a_whole_repository_is_refused(workload: Workload) -> None:
    (workload.path.parent / ".git").mkdir()
    with pytest.raises(FaultwatchError, match="that is a whole repository") as caught:
        load_workload(workload.path)
    assert caught.value.remedy.endswith("such as faultwatch/")


def test_a_parameter_of_that_name_is_refused(workload: Workload) -> None:
    workload.path.write_text(TEXT + "workload = [1]\n")
    with pytest.raises(FaultwatchError, match="already stands for the workload's own folder"):
        load_workload(workload.path)


def test_a_link_out_of_the_folder_is_refused(workload: Workload) -> None:
    (workload.path.parent / "leak").symlink_to("/etc/passwd")
    with pytest.raises(FaultwatchError, match="points outside"):
        provide_own_folder(workload)


def test_the_path_is_as_long_in_a_longer_data_folder(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = set()
    with TemporaryDirectory() as short:
        for home in ("a", "a-longer-folder"):
            monkeypatch.setenv("FAULTWATCH_HOME", f"{short}/{home}")
            lengths.add(len(str(provide_own_folder(workload))))
    assert lengths == {96}
