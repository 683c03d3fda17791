"""A workload file that somebody wrote is found and kept, wherever it is in the repository."""

from pathlib import Path

import pytest

from runner.adoption.existing_workload import get_workload_folder, locate_workload_file
from runner.errors import FaultwatchError
from runner.subject.repository import Repository, open_repository
from runner.subject.workload_files import list_workload_files
from tests.runner.commands import git


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / ".gitignore").write_text("build\n")
    return folder


def place(top: Path, named: str | None = None) -> str:
    repository: Repository = open_repository(str(top), top.parent)
    return str(locate_workload_file(repository, top, named).relative_to(top))


def write(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("")


def test_the_only_workload_file_is_found_in_any_folder_and_one_at_the_top_wins(top: Path) -> None:
    assert place(top) == "workload.toml"
    write(top, "bench/driver/workload.toml", "build/workload.toml")
    assert place(top) == "bench/driver/workload.toml"
    write(top, "workload.toml")
    assert place(top) == "workload.toml"


def test_of_several_one_has_to_be_named(top: Path) -> None:
    write(top, *(f"bench/{name}/workload.toml" for name in "abcde"))
    with pytest.raises(
        FaultwatchError, match=r"several workload files: bench/a/\S+, bench/b/\S+, bench/c/\S+ and 2 more"
    ):
        place(top)
    for named in ("bench/d", "bench/d/workload.toml"):
        assert place(top, str(top / named)) == "bench/d/workload.toml"
        assert get_workload_folder(str(top / named)) == str(top / "bench/d")


def test_all_who_look_for_workload_files_find_the_same(top: Path) -> None:
    repository = open_repository(str(top), top.parent)
    write(top, "bench/workload.toml", "workload.toml", "build/workload.toml", "a/b/workload.toml")
    git(top, "add", "bench")
    names = [str(file.relative_to(top)) for file in list_workload_files(repository)]
    assert names == ["workload.toml", "a/b/workload.toml", "bench/workload.toml"], "one that git ignores is none"
    within = open_repository(str(top / "bench"), top.parent)
    assert list_workload_files(within) == list_workload_files(repository), "from any folder of it"
    (top / "bench" / "workload.toml").unlink()
    assert len(list_workload_files(repository)) == 2, "one that is gone is none"


def test_a_file_that_is_not_there_or_elsewhere_is_refused(top: Path, tmp_path: Path) -> None:
    with pytest.raises(FaultwatchError, match=r"bench/workload\.toml does not exist"):
        place(top, str(top / "bench/workload.toml"))
    write(tmp_path, "other/workload.toml")
    with pytest.raises(FaultwatchError, match=r"is not in .*project"):
        place(top, str(tmp_path / "other"))


def test_a_link_to_itself_is_no_workload_file(top: Path) -> None:
    (top / "loop.toml").symlink_to("loop.toml")
    with pytest.raises(FaultwatchError, match=r"loop\.toml does not exist"):
        place(top, str(top / "loop.toml"))
