from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.subject.committed_workload import load_committed_workload, locate_requested_workload
from runner.subject.repository import Repository, open_repository
from runner.workload import Workload, load_workload
from runner.workload.workload_lookup import find_workload

Run = Callable[..., str]


def text(name: str, more: str = "") -> str:
    return f'[workload]\nname = "{name}"\n{more}[run]\ncommand = ["./prog"]\n'


@pytest.fixture
def repository(git: Run, tmp_path: Path) -> Repository:
    git("init", "--quiet", "--initial-branch=main")
    return open_repository(str(tmp_path / "subject"), tmp_path)


def write(repository: Repository, files: dict[str, str]) -> None:
    for name, content in files.items():
        place = repository.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)


def record(git: Run) -> str:
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", "A commit")
    return git("rev-parse", "HEAD").strip()


def found(
    repository: Repository, commit: str, scratch: Path, monkeypatch: pytest.MonkeyPatch, workload: Workload, name: str
) -> str:
    """Return the description of the workload that a commit has; empty if it has none."""
    monkeypatch.chdir(repository.path)
    asked = locate_requested_workload(repository, workload, name)
    assert asked
    workload_there = load_committed_workload(repository, commit, asked, scratch)
    return workload_there.workload.description if workload_there else ""


@pytest.mark.parametrize(
    ("base", "head", "named", "at"),
    [
        ({"workload.toml": "w"}, {"workload.toml": "w"}, "workload.toml", "workload.toml"),
        ({"workload.toml": "w"}, {"workload.toml": "other"}, "workload.toml", "workload.toml"),
        ({"perf/workload.toml": "w"}, {"workload.toml": "w"}, "w", "perf/workload.toml"),
        ({"perf/workload.toml": "w"}, {"w/workload.toml": "other"}, "w", "perf/workload.toml"),
        ({"perf/workload.toml": "w"}, {"new/workload.toml": "w"}, "new/workload.toml", "perf/workload.toml"),
        (
            {"workload.toml": "a", "sub/workload.toml": "w"},
            {"workload.toml": "w", "sub/workload.toml": "w"},
            "w",
            "sub/workload.toml",
        ),
        (
            {"w/workload.toml": "x", "sub/workload.toml": "w"},
            {"w/workload.toml": "x", "sub/workload.toml": "w"},
            "w",
            "w/workload.toml",
        ),
        ({}, {"workload.toml": "w"}, "workload.toml", ""),
    ],
    ids=["same", "renamed", "moved", "folder-of-its-name", "moved-by-path", "two", "folder-named-as-another", "none"],
)
def test_the_file_is_found_whatever_head_does_with_its_own(
    repository: Repository,
    git: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    base: dict[str, str],
    head: dict[str, str],
    named: str,
    at: str,
) -> None:
    write(repository, {path: text(name, f'description = "{path}"\n') for path, name in base.items()})
    before = record(git)
    git("rm", "--quiet", "-r", "--ignore-unmatch", ".")
    write(repository, {path: text(name) for path, name in head.items()})
    record(git)
    monkeypatch.chdir(repository.path)
    place = next(path for path, name in head.items() if named in {name, path, Path(path).parent.name})
    workload = find_workload(named) if named == place else load_workload(repository.path / place)
    assert found(repository, before, tmp_path / "scratch", monkeypatch, workload, named) == at


def test_a_folder_that_became_a_link_does_not_lead_elsewhere(
    repository: Repository, git: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository, {"perf/workload.toml": text("w", 'description = "judge"\n')})
    before = record(git)
    git("rm", "--quiet", "-r", "perf")
    write(repository, {"weak/workload.toml": text("other")})
    (repository.path / "perf").symlink_to("weak")
    record(git)
    monkeypatch.chdir(repository.path)
    workload = find_workload("perf/workload.toml")
    assert found(repository, before, tmp_path / "scratch", monkeypatch, workload, "perf/workload.toml") == "judge"


def test_a_build_of_the_workloads_own_folder_has_the_files_of_its_commit(
    repository: Repository, git: Run, tmp_path: Path
) -> None:
    recipe = '[build]\ndirectory = "workload"\ncommand = "true"\n'
    write(repository, {"perf/workload.toml": text("w") + recipe, "perf/prog.c": "one"})
    before = record(git)
    write(repository, {"perf/prog.c": "two"})
    record(git)
    workload = load_workload(repository.path / "perf")
    asked = locate_requested_workload(repository, workload, None)
    assert asked
    old = load_committed_workload(repository, before, asked, tmp_path / "scratch")
    assert old
    assert [one.file.read_text() for one in old.list_own_files()] == ["one"]
    assert old.definition != workload.definition


def test_files_that_no_commit_has_make_no_difference(repository: Repository, git: Run, tmp_path: Path) -> None:
    recipe = '[build]\ndirectory = "workload"\ncommand = "true"\n'
    write(repository, {"perf/workload.toml": text("w") + recipe, "perf/prog.c": "one"})
    before = record(git)
    write(repository, {"README": "words", "perf/results.json": "[]"})
    git("add", "README")
    git("commit", "--quiet", "--message", "Words")
    workload = load_workload(repository.path / "perf")
    asked = locate_requested_workload(repository, workload, None)
    assert asked
    old = load_committed_workload(repository, before, asked, tmp_path / "scratch")
    assert old
    assert old.definition == workload.definition


def test_a_workload_outside_of_the_repository_is_nobodys(repository: Repository, git: Run, tmp_path: Path) -> None:
    record(git)
    (tmp_path / "elsewhere.toml").write_text(text("w"))
    assert locate_requested_workload(repository, load_workload(tmp_path / "elsewhere.toml"), None) is None


def test_a_mistake_is_named_with_its_commit(repository: Repository, git: Run, tmp_path: Path) -> None:
    write(repository, {"workload.toml": text("w", "nonsense = 1\n")})
    before = record(git)
    write(repository, {"workload.toml": text("w")})
    record(git)
    asked = locate_requested_workload(repository, load_workload(repository.path), None)
    assert asked
    with pytest.raises(FaultwatchError, match=f"workload.toml of {before[:10]}: .*nonsense: unknown key"):
        load_committed_workload(repository, before, asked, tmp_path / "scratch")
