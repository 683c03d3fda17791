import os
import subprocess
from pathlib import Path

import pytest

from runner.adoption.sources import Sources, read_sources
from runner.subject.repository import open_repository
from tests.runner.adoption.listings import listing


def test_a_file_has_changed_lately_if_the_newest_commits_or_those_of_the_last_year_changed_it(tmp_path: Path) -> None:
    top = tmp_path / "x"
    top.mkdir()

    def git(*words: str, year: int = 2020) -> None:
        dates = {f"GIT_{role}_DATE": f"{year}-06-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")}
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
        subprocess.run(["git", "-C", str(top), *identity, *words], check=True, env=os.environ | dates)

    def commit(year: int, *names: str) -> None:
        for name in names:
            (top / name).write_text(f"{year}\n")
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", "Change", year=year)

    git("init", "--quiet")
    commit(2010, "old.json")
    commit(2020, "recent.json")
    for _ in range(30):
        commit(2020)
    commit(2020, "newest.json")
    sources = read_sources(open_repository(str(top), tmp_path), "HEAD")
    assert sources.changed_files == {"recent.json", "newest.json"}
    for _ in range(10):
        commit(2022)
    sources = read_sources(open_repository(str(top), tmp_path), "HEAD")
    assert sources.changed_files == {"newest.json"}, "the others are older than a year"


def test_a_makefile_of_the_documentation_does_not_hide_that_of_the_tests() -> None:
    sources = listing({"doc/Makefile": "", "tests/Makefile": "", "tests/threads/Makefile": ""})
    assert sources.list_nearest_files("Makefile") == ["tests/Makefile"]


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        (("CMakeLists.txt",), "build"),
        (("build", "CMakeLists.txt"), "_build"),  # a script, as many projects have
        (("build/rules.txt", "_build/notes.txt"), "build-faultwatch"),
        (("build/a", "_build", "build-faultwatch/a", "build-faultwatch-2"), "build-faultwatch-3"),
    ],
)
def test_no_tracked_file_or_folder_has_the_name_of_the_build_folder(files: tuple[str, ...], folder: str) -> None:
    assert Sources("project", files, lambda _: "").build_folder == folder
