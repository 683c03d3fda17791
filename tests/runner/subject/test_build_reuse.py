"""Commits that change nothing that a build reads use an earlier build, and checks find out where that is wrong."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.subject import build_ahead, build_reuse
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_ahead import BuildAhead
from runner.subject.build_folders import BuildFolders
from runner.subject.build_inputs import Inputs
from runner.subject.checked_commits import is_built_anyway
from runner.subject.repository import open_repository
from runner.workload import Workload
from runner.workload.workload_lookup import find_workload

Run = Callable[..., str]


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(BuildFolders(tmp_path / "builds"), {"cpu.model": "one"})


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Workload]:
    monkeypatch.setattr(build_ahead, "MIN_BUILD_SECONDS", 0.0)

    def make(script: str) -> Workload:
        file = tmp_path / "workload.toml"
        command = json.dumps(["sh", "-c", script])
        file.write_text(f'[workload]\nname = "w"\n[build]\ncommand = {command}\n[run]\ncommand = "./program"\n')
        return find_workload(str(file))

    return make


def test_a_commit_that_changes_what_no_build_reads_uses_the_last_build(
    builder: Builder, workload: Callable[[str], Workload], commit: Run, tmp_path: Path
) -> None:
    commits = [commit("First", source="1", README="first")]
    commits += [commit(f"Document {number}", README=str(number)) for number in range(30)]
    commits += [commit("Source", source="2"), commit("Later document", README="last")]
    recipe = workload(f"cp source program; echo built >>{tmp_path}/log")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    others = [made for made in commits if is_built_anyway(made)]
    with BuildAhead(builder, repository, recipe, commits, 2, build_all=False) as builds:
        for number, made in enumerate(commits):
            tree, build = builds.build(made)
            assert (tree / "program").read_text() == ("1" if number < 31 else "2")
            assert (tree / "README").read_text() == ["first", *map(str, range(30)), "29", "last"][number]
            if made in others or number in {0, 31}:
                assert build.built_commit is None
            else:
                assert build.built_commit in {commits[0], commits[31], *others}
    assert (tmp_path / "log").read_text().count("built") == 2 + len(set(others) - {commits[0], commits[31]})


def test_the_first_commit_uses_the_nearest_build_that_is_kept(
    builder: Builder,
    workload: Callable[[str], Workload],
    commit: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build_reuse, "is_built_anyway", lambda made: False)
    commits = [commit("First", source="1", README="first")]
    commits += [commit(f"Document {number}", README=str(number)) for number in range(3)]
    commits += [commit("Break", source="broken"), commit("Nothing"), commit("Mend", source="1", README="last")]
    recipe = workload("cp source program; test $(cat source) = 1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)

    def build(made: str) -> str | None:
        with BuildAhead(builder, repository, recipe, [made], 2, build_all=False) as builds:
            tree, build = builds.build(made)
        assert (tree / "program").read_text() == "1"
        assert (tree / "README").read_text() == repository.git("show", f"{made}:README")
        return build.built_commit

    assert [build(made) for made in commits[:4]] == [None, *commits[:1] * 3]
    for broken in commits[4:6]:
        with pytest.raises(BuildFailure, match="exit code 1"):
            build(broken)
    assert build(commits[6]) == commits[0], "its files are the same but for the document"


def test_a_commit_is_built_that_changes_what_the_build_reads_or_more_than_content(
    builder: Builder, workload: Callable[[str], Workload], commit: Run, tmp_path: Path
) -> None:
    commits = [
        commit("First", source="1", README="first"),
        commit("Both", source="2", README="second"),
        commit("A file more", further="1"),
        commit("Read at last", source="3", read="README"),
        commit("Document", README="third"),
    ]
    recipe = workload("cp source program; test ! -e read || cat $(cat read) >>program")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with BuildAhead(builder, repository, recipe, commits, 2, build_all=False) as builds:
        built = [(builds.build(made)[0] / "program").read_text() for made in commits]
    assert built == ["1", "2", "2", "3second", "3third"]


def test_a_check_finds_that_a_build_depends_on_more_than_was_seen(
    workload: Callable[[str], Workload], commit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    builder = Builder(BuildFolders(tmp_path / "builds"), {}, report_repeated_build=said.append)
    commits = [commit("First", README="first")] + [commit(f"Document {n}", README=n * "x") for n in range(1, 4)]
    monkeypatch.setattr(build_reuse, "is_built_anyway", lambda made: made == commits[2])
    # The watch sees each question. What is asked of another process, which answers from the same files, it does not.
    recipe = workload("head -c $(stat -c %s README) /dev/zero >program")
    monkeypatch.setattr(Inputs, "may_depend_on", lambda *_: False)
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with BuildAhead(builder, repository, recipe, commits, 1, build_all=False) as builds:
        sizes = [(builds.build(made)[0] / "program").stat().st_size for made in commits]
    assert sizes == [5, 5, 2, 3]
    assert said == [
        f"{commits[2][:10]} changes only files that the last build did not read, but its build differs from that "
        "one: from now on, every commit is built"
    ]


def test_a_commit_is_built_if_the_build_that_it_could_use_is_lost_and_fails_now(
    builder: Builder,
    workload: Callable[[str], Workload],
    commit: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build_reuse, "is_built_anyway", lambda made: False)
    commits = [commit("First", source="1", README="first"), commit("Document", README="second")]
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    (tmp_path / "once").touch()
    recipe = workload(f"cp source program; rm {tmp_path}/once || grep second ../tree/READM*")
    with BuildAhead(builder, repository, recipe, commits, 1, build_all=False) as builds:
        tree, _ = builds.build(commits[0])
        monkeypatch.setattr(Inputs, "may_depend_on", lambda *_: False)
        shutil.rmtree(tree.parent / "built")
        (tree / "program").write_text("damaged")
        tree, build = builds.build(commits[1])
    assert build.built_commit is None
    assert (tree / "README").read_text() == "second"


def test_a_check_that_cannot_be_made_is_no_failure_of_the_commit(
    builder: Builder,
    workload: Callable[[str], Workload],
    commit: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commits = [commit("First", source="1", README="first"), commit("Document", README="second")]
    monkeypatch.setattr(build_reuse, "is_built_anyway", lambda made: made == commits[1])
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    (tmp_path / "once").touch()
    recipe = workload(f"cp source program; rm {tmp_path}/once || grep second ../tree/READM*")
    with BuildAhead(builder, repository, recipe, commits, 1, build_all=False) as builds:
        tree, _ = builds.build(commits[0])
        monkeypatch.setattr(Inputs, "may_depend_on", lambda *_: False)
        shutil.rmtree(tree.parent / "built")
        (tree / "program").write_text("damaged")
        tree, _ = builds.build(commits[1])
    assert (tree / "README").read_text() == "second"
