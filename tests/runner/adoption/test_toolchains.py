"""Which of several versions of a tool builds a project."""

from pathlib import Path

import pytest

from runner.adoption.proposal import BuildProposal
from runner.adoption.tool_environment import add_tool_paths, describe_tools
from runner.adoption.toolchains import Toolchain, choose_toolchain, find_rustup_home, list_toolchains


@pytest.fixture
def versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go 1.19 on the build's PATH, 1.22 on the user's."""
    for folder, version in (("old", "1.19.8"), ("new", "1.22.1")):
        file = tmp_path / folder / "go"
        file.parent.mkdir()
        file.write_text(f"#!/bin/sh\necho go version go{version} linux/amd64\n")
        file.chmod(0o755)
    monkeypatch.setattr("runner.adoption.toolchains.list_usual_folders", list)
    monkeypatch.setenv("PATH", f"{tmp_path}/new:{tmp_path}/old")
    return tmp_path


def go(least: str, path: Path) -> BuildProposal:
    return BuildProposal("Go", "go build", ("go",), {"PATH": str(path)}, min_versions={"go": least} if least else {})


def test_the_users_own_version_comes_before_that_of_the_system(versions: Path) -> None:
    build = add_tool_paths(go("", versions / "old"))
    assert build.environment["PATH"] == f"{versions}/new:{versions}/old"
    said, lacks = describe_tools(build)
    assert said == f"go 1.22.1 at {versions}/new/go; also 1.19.8 at {versions}/old/go"
    assert not lacks


def test_a_newer_version_is_used_where_the_project_asks_for_it(versions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{versions}/old:{versions}/new")
    assert add_tool_paths(go("1.19", versions / "old")).environment["PATH"] == f"{versions}/old"
    assert add_tool_paths(go("1.21.5", versions / "old")).environment["PATH"].startswith(f"{versions}/new:")


def test_what_no_version_suffices_for_is_named(versions: Path) -> None:
    build = add_tool_paths(go("1.26.3", versions / "old"))
    _, lacks = describe_tools(build)
    assert lacks == f"the project requires go 1.26.3, but this host has go 1.22.1 at {versions}/new/go"


def test_versions_are_compared_as_numbers() -> None:
    found = [Toolchain("go", Path(version), version) for version in ("1.9", "1.10", "")]
    assert [
        str(one.file)
        for one in [choose_toolchain(found), choose_toolchain(found, "1.10"), choose_toolchain(found, "2")]
        if one
    ] == [*("1.9", "1.10", "1.10")]


def test_a_version_with_thousands_of_digits_is_only_a_new_one(versions: Path) -> None:
    _, lacks = describe_tools(go(f"1.{'9' * 5000}", versions / "old"))
    assert "but this host has go 1.22.1" in lacks


def test_the_version_of_a_tool_of_rustup_is_read_although_home_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "user" / ".cargo" / "bin"
    folder.mkdir(parents=True)
    for name in ("rustup", "cargo"):
        (folder / name).write_text(
            '#!/bin/sh\ntest -e "${RUSTUP_HOME:-$HOME/.rustup}/toolchains" && echo cargo 1.95.0\n'
        )
        (folder / name).chmod(0o755)
    (tmp_path / "user" / ".rustup" / "toolchains").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("runner.adoption.toolchains.list_usual_folders", list)
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("PATH", str(folder))
    (cargo,) = list_toolchains("cargo", "/nowhere")
    assert cargo.version == "1.95.0"


def test_the_toolchains_of_the_users_own_home_replace_the_empty_ones_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rustup").touch()
    (tmp_path / "own" / ".rustup" / "toolchains").mkdir(parents=True)
    (tmp_path / "other" / ".rustup").mkdir(parents=True)
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    monkeypatch.setattr("runner.adoption.toolchains._list_own_homes", lambda: [tmp_path / "own"])
    found_folder = find_rustup_home(tmp_path / "bin" / "cargo", tmp_path / "other")
    assert found_folder == tmp_path / "own" / ".rustup"
