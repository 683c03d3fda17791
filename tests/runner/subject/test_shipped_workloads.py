"""The shipped workloads of an installation without a clone: one commit for each version, the same everywhere."""

from pathlib import Path
from typing import Any

import pytest

from runner.subject import shipped_workloads
from runner.subject.hardened_git import run_git
from runner.subject.shipped_workloads import prepare_shipped_repository


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """Workloads as a wheel installs them: with the date of the build, and with what Python compiled there."""
    folder = tmp_path / "workloads"
    for name in ("one/main.c", "one/.gitignore", "one/__pycache__/bench.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("main.c\n")
    (folder / ".date").write_text("1700000000\n")
    return folder


def test_a_clone_is_its_own_repository(shipped: Path, tmp_path: Path) -> None:
    (shipped / ".date").unlink()
    assert prepare_shipped_repository(shipped, tmp_path / "home") is None
    assert not (tmp_path / "home").exists()


def test_the_same_files_are_the_same_commit_in_every_home(shipped: Path, tmp_path: Path) -> None:
    commits = set()
    for home in ("here", "there", "there"):
        repository = prepare_shipped_repository(shipped, tmp_path / home)
        assert repository
        (revision,) = repository.list_revisions("HEAD")
        assert revision.committed_at.isoformat() == "2023-11-14T22:13:20+00:00"
        commits.add(revision.commit)
    assert len(commits) == 1


def test_the_commit_has_every_file_but_compiled_ones(shipped: Path, tmp_path: Path) -> None:
    repository = prepare_shipped_repository(shipped, tmp_path / "home")
    assert repository
    listed = repository.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert listed == [".date", "one/.gitignore", "one/main.c"]


def test_a_later_version_is_the_next_commit(shipped: Path, tmp_path: Path) -> None:
    before = prepare_shipped_repository(shipped, tmp_path / "home")
    assert before
    first = before.resolve("HEAD")
    (shipped / "one/main.c").write_text("int main(void) { return 0; }\n")
    after = prepare_shipped_repository(shipped, tmp_path / "home")
    assert after
    assert [revision.parents for revision in after.list_revisions("HEAD")] == [(), (first,)]


def test_a_work_tree_that_only_root_may_write_is_enough(shipped: Path, tmp_path: Path) -> None:
    shipped.chmod(0o555)
    assert prepare_shipped_repository(shipped, tmp_path / "home")
    assert sorted(place.name for place in shipped.iterdir()) == [".date", "one"]


def test_two_commands_that_commit_a_later_version_at_the_same_time_both_get_it(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_shipped_repository(shipped, tmp_path / "home")
    (shipped / "one/main.c").write_text("int main(void) { return 0; }\n")

    def run_after_another_command(*arguments: str, **options: Any) -> str:
        if arguments[0] == "update-ref":
            run_git(*arguments, **options)
        return run_git(*arguments, **options)

    monkeypatch.setattr(shipped_workloads, "run_git", run_after_another_command)
    repository = prepare_shipped_repository(shipped, tmp_path / "home")
    assert repository
    assert len(repository.list_revisions("HEAD")) == 2
