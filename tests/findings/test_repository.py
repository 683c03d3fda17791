from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from findings import repository


@pytest.fixture
def first(commit: Callable[..., str]) -> str:
    """The first commit of the repository ``subject``."""
    return commit("Begin")


def test_a_range_that_was_extended_is_fetched(
    first: str, commit: Callable[..., str], git: Callable[..., str], tmp_path: Path
) -> None:
    folder = tmp_path / "build" / "clone"
    git("tag", "moved")
    repository.clone(str(tmp_path / "subject"), f"{first}..main", folder)
    last = commit("Go on")
    git("tag", "v2")
    git("tag", "--force", "moved")
    repository.clone(str(tmp_path / "subject"), f"{first}..v2", folder)
    assert repository.git(folder, "rev-list", f"{first}..v2").split() == [last]


def test_a_clone_is_used_again_without_its_source(first: str, tmp_path: Path) -> None:
    source, folder = str(tmp_path / "subject"), tmp_path / "clone"
    repository.clone(source, "main", folder)
    shutil.rmtree(source)
    repository.clone(source, "main", folder)
    assert repository.git(folder, "rev-parse", "main").strip() == first


def test_a_clone_that_was_killed_is_made_again(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "clone"

    def killed(words: list[str], **_: object) -> None:
        Path(words[-1]).mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", killed)
    with pytest.raises(KeyboardInterrupt):
        repository.clone(str(tmp_path / "subject"), "main", folder)
    monkeypatch.undo()
    repository.clone(str(tmp_path / "subject"), "main", folder)
    assert repository.git(folder, "rev-parse", "main").strip() == first


def test_a_clone_of_another_repository_is_refused(first: str, tmp_path: Path) -> None:
    source, folder = tmp_path / "subject", tmp_path / "build" / "clone"
    repository.clone(str(source), "main", folder)
    other = tmp_path / "other"
    shutil.copytree(source, other)
    with pytest.raises(SystemExit) as refused:
        repository.clone(str(other), "main", folder)
    assert str(refused.value) == (
        f"{folder} is no clone of {other} but of {source}: remove {folder.parent} to begin again"
    )


def test_another_way_to_write_its_path_is_the_same_repository(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    repository.clone("subject", "main", tmp_path / "clone")
    repository.clone("../" + tmp_path.name + "/subject/", "main", tmp_path / "clone")
