"""Workers build the next revisions, pause while something is measured, and leave nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.contract.code_trust import BuildStore
from runner.execution.sandbox import Sandbox
from runner.subject import build_ahead
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_ahead import BuildAhead, is_built_anyway
from runner.subject.build_cache import BuildPlaces
from runner.subject.build_inputs import Inputs
from runner.subject.build_worker import decode_order, encode_order
from runner.subject.repository import Repository, open_repository
from runner.workload import Workload
from runner.workload.workload_lookup import find_workload

Run = Callable[..., str]
Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def wait() -> Wait:
    def until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    return until


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(BuildPlaces(tmp_path / "builds"), {"cpu.model": "one"})


@pytest.fixture
def workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Workload]:
    monkeypatch.setattr(build_ahead, "MIN_BUILD_SECONDS", 0.0)

    def make(script: str, build: str = "") -> Workload:
        file = tmp_path / "workload.toml"
        command = json.dumps(["sh", "-c", script])
        file.write_text(
            f'[workload]\nname = "w"\n[build]\ncommand = {command}\n{build}\n[run]\ncommand = "./program"\n'
        )
        return find_workload(str(file))

    return make


@pytest.fixture
def commits(commit: Run) -> list[str]:
    return [commit(f"Number {number}", source=str(number)) for number in range(5)]


@pytest.fixture
def repository(commits: list[str], tmp_path: Path) -> Repository:
    return open_repository(str(tmp_path / "subject"), tmp_path)


def test_each_revision_is_built_once_and_is_its_own(
    builder: Builder,
    workload: Callable[[str], Workload],
    repository: Repository,
    commits: list[str],
    tmp_path: Path,
) -> None:
    recipe = workload(f"cp source program; echo built >>{tmp_path}/log; test $(cat source) != 3")
    with BuildAhead(builder, repository, recipe, commits, 2) as builds:
        for number, commit in enumerate(commits):
            if number == 3:
                with pytest.raises(BuildFailure, match="exit code 1"):
                    builds.build(commit)
                continue
            tree, build = builds.build(commit)
            assert (tree / "program").read_text() == str(number)
            assert not build.cached, "this command has built it, ahead or not"
            assert build.seconds > 0
    assert (tmp_path / "log").read_text().count("built") == len(commits)


def test_builds_rest_while_something_is_measured_and_go_on_afterwards(
    builder: Builder,
    workload: Callable[[str], Workload],
    repository: Repository,
    commits: list[str],
    tmp_path: Path,
    wait: Wait,
) -> None:
    beats = tmp_path / "beats"
    recipe = workload(f"test $(cat source) = 0 || for i in $(seq 100); do (echo >>{beats}); sleep 0.02; done")
    with BuildAhead(builder, repository, recipe, commits, 2) as builds:
        builds.build(commits[0])
        wait(beats.exists)
        with builds.pause_builds():
            size = beats.stat().st_size
            time.sleep(0.3)
            assert beats.stat().st_size == size
        wait(lambda: beats.stat().st_size > size)
        builds.build(commits[1])
    assert beats.read_text().count("\n") >= 100


def test_the_time_that_a_build_rests_does_not_count_against_its_limit(
    builder: Builder,
    workload: Callable[..., Workload],
    repository: Repository,
    commits: list[str],
    tmp_path: Path,
    wait: Wait,
) -> None:
    begun = tmp_path / "begun"
    # The second build needs one second of two, the third hangs.
    script = f"case $(cat source) in 0) ;; 1) echo >>{begun}; sleep 1; cp source program ;; *) sleep 1000 ;; esac"
    recipe = workload(script, "timeout = 2")
    with BuildAhead(builder, repository, recipe, commits[:3], 2) as builds:
        builds.build(commits[0])
        wait(begun.exists)
        with builds.pause_builds():
            time.sleep(3)
        tree, build = builds.build(commits[1])
        assert (tree / "program").read_text() == "1"
        assert build.seconds < 2
        assert begun.read_text() == "\n", "the first attempt succeeded"
        started_at = time.monotonic()
        with pytest.raises(BuildFailure, match="did not finish within 2 s"):
            builds.build(commits[2])
        assert time.monotonic() - started_at < 10


@pytest.mark.parametrize("how", ["leaves", "is killed", "is killed while they rest"])
def test_no_build_outlives_the_runner(
    how: str,
    builder: Builder,
    workload: Callable[[str], Workload],
    repository: Repository,
    commits: list[str],
    tmp_path: Path,
    wait: Wait,
) -> None:
    mark = f"{os.getpid()}.{how.count(' ')}"
    recipe = workload(f"test $(cat source) = 0 || (touch {tmp_path}/begun; exec setsid sleep 1000.{mark})")
    script = f"""
import time
from contextlib import nullcontext
from pathlib import Path
from runner.subject import build_ahead
from runner.subject.build_worker import decode_order

build_ahead.MIN_BUILD_SECONDS = 0
order = decode_order({encode_order(builder, repository, recipe)!r})
with build_ahead.BuildAhead(*order, {commits!r}, 2) as builds:
    builds.build({commits[0]!r})
    while not Path({str(tmp_path / "begun")!r}).exists():
        time.sleep(0.02)
    with builds.pause_builds() if {how == "is killed while they rest"} else nullcontext():
        time.sleep({0 if how == "leaves" else 1000})
"""
    with subprocess.Popen([sys.executable, "-c", script], start_new_session=True) as runner:
        if how != "leaves":
            wait((tmp_path / "begun").exists)
            time.sleep(0.3)
            os.kill(runner.pid, signal.SIGKILL)

    def has_ended() -> bool:
        return subprocess.run(["pgrep", "-f", f"sleep 1000.{mark}"], check=False, capture_output=True).returncode == 1

    wait(has_ended)


def test_an_order_is_read_as_it_was_written(
    repository: Repository, workload: Callable[[str], Workload], tmp_path: Path
) -> None:
    places = BuildPlaces(tmp_path, BuildStore.PULL_REQUEST, 1000, 2.5)
    builder = Builder(places, {"cpu.model": "one"}, Sandbox(1, 2, ("/opt",)), retry_failed=True)
    decoded, where, recipe = decode_order(encode_order(builder, repository, workload("true")))
    assert (decoded.places, decoded.machine_settings, decoded.sandbox, decoded.retry_failed) == (
        places,
        builder.machine_settings,
        builder.sandbox,
        True,
    )
    assert (where, recipe.definition) == (repository, workload("true").definition)


def test_an_order_may_have_paths_that_are_no_text(workload: Callable[[str], Workload], tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    builder = Builder(BuildPlaces(odd), {"cpu.model": "one"}, Sandbox(readable_folders=(str(odd),)))
    decoded, where, _ = decode_order(encode_order(builder, Repository(odd, "odd"), workload("true")))
    assert (decoded.places, decoded.sandbox, where.path) == (builder.places, builder.sandbox, odd)


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
    monkeypatch.setattr(build_ahead, "is_built_anyway", lambda made: False)
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
    builder = Builder(BuildPlaces(tmp_path / "builds"), {}, report_repeated_build=said.append)
    commits = [commit("First", README="first")] + [commit(f"Document {n}", README=n * "x") for n in range(1, 4)]
    monkeypatch.setattr(build_ahead, "is_built_anyway", lambda made: made == commits[2])
    # The watch sees each question. What is asked of another process, which answers from the same files, it does not.
    recipe = workload("head -c $(stat -c %s README) /dev/zero >program")
    monkeypatch.setattr(Inputs, "may_depend_on", lambda *_: False)
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with BuildAhead(builder, repository, recipe, commits, 1, build_all=False) as builds:
        sizes = [(builds.build(made)[0] / "program").stat().st_size for made in commits]
    assert sizes == [5, 5, 2, 3]
    assert said == [
        f"{commits[2][:10]} changes only files that its build has not read, but its build differs from the "
        "previous one: from now on, every commit is built"
    ]


def test_a_commit_is_built_if_the_build_that_it_could_use_is_lost_and_fails_now(
    builder: Builder,
    workload: Callable[[str], Workload],
    commit: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(build_ahead, "is_built_anyway", lambda made: False)
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
    monkeypatch.setattr(build_ahead, "is_built_anyway", lambda made: made == commits[1])
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
