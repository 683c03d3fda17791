"""What a session takes from its host."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from runner.contract.report import Environment
from runner.environment import capture as capturing
from runner.errors import FaultwatchError
from runner.measuring import preflight
from runner.settings import load_settings
from runner.subject.build_folders import unlock_build_folders
from runner.subject.repository import Repository, open_repository
from runner.workload import list_cases, load_workload
from runner.workload.workload_folder import provide_own_folder

WORKLOAD = """
[workload]
name = "w"
[build]
command = "true"
[run]
command = ["./w", "{workload}/input"]
"""


@pytest.mark.perf
@pytest.mark.parametrize("setting", ["kernel.architecture", "cpu.model", "cpu.features", "libc.version"])
def test_another_machine_makes_other_builds(setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    here = preflight.set_up_workbench(load_settings(), examine_host=False).builder.machine_settings

    def other(**more: object) -> Environment:
        found = capturing.capture_environment(**more)  # type: ignore[arg-type]
        return found.model_copy(update={"settings": {**found.settings, setting: "another"}})

    monkeypatch.setattr(preflight, "capture_environment", other)
    there = preflight.set_up_workbench(load_settings(), examine_host=False).builder.machine_settings
    assert {name for name in here | there if here.get(name) != there.get(name)} == {setting}


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is shorter than that of pytest's."""
    with TemporaryDirectory(prefix="") as name:
        yield Path(name)
        unlock_build_folders()


@pytest.mark.perf
@pytest.mark.parametrize(
    ("letter", "digits"),
    [("h", 40), (os.fsdecode(b"\xe9"), 64)],
    ids=["text, SHA-1", "no text, SHA-256"],
)
@pytest.mark.parametrize("size", [20, 44, 45, 60, 90, 140, 141, 200])
def test_programs_see_paths_as_long_as_the_environment_says(
    size: int, letter: str, digits: int, tmp_path: Path, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = short_folder / (letter * (size - len(str(short_folder)) - 1))
    assert len(str(home)) == size
    monkeypatch.setenv("FAULTWATCH_HOME", str(home))
    (tmp_path / "workload.toml").write_text(WORKLOAD)
    (tmp_path / "input").touch()
    workload = load_workload(tmp_path / "workload.toml")
    workbench = preflight.set_up_workbench(load_settings(), examine_host=False)
    tree, _ = workbench.builder.build(*one_commit(tmp_path / "subject", digits), workload)
    shown = provide_own_folder(workload)
    settings = workbench.bench.capture_environment(workload, list_cases(workload)[0]).settings
    assert shown
    assert str(len(os.fsencode(tree))) == str(len(os.fsencode(shown))) == settings["process.path_length"]


def one_commit(folder: Path, digits: int) -> tuple[Repository, str]:
    """Make a repository with one commit, whose name has so many digits."""
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.invalid", "-C", str(folder)]
    form = {40: "sha1", 64: "sha256"}[digits]
    subprocess.run(["git", "init", "--quiet", f"--object-format={form}", folder], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "One"], check=True)
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    assert len(commit) == digits
    return open_repository(str(folder), folder), commit


def test_a_home_that_allows_no_programs_is_no_failure_of_a_revision(
    noexec_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(noexec_folder / "home"))
    with pytest.raises(
        FaultwatchError, match=r"/home/builds is on a file system that does not let programs run \(noexec\)"
    ):
        preflight.set_up_workbench(load_settings())
    assert not (noexec_folder / "home").exists()
