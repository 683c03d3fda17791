"""Workers build the next revisions, pause while something is measured, and leave nothing behind."""

import json
import os
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
from runner.subject.build_ahead import BuildAhead
from runner.subject.build_folders import BuildFolders
from runner.subject.build_worker import decode_order, encode_order
from runner.subject.repository import Repository, open_repository
from runner.system.descendants import list_descendants
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
    return Builder(BuildFolders(tmp_path / "builds"), {"cpu.model": "one"})


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


def test_the_builds_go_on_after_a_worker_was_killed(
    builder: Builder, workload: Callable[[str], Workload], repository: Repository, commits: list[str], wait: Wait
) -> None:
    recipe = workload("cp source program; sleep 0.2")
    with BuildAhead(builder, repository, recipe, commits, 2) as builds:
        builds.build(commits[0])
        for pid in list_descendants([builds._workers[0].supervisor]):
            os.kill(pid, signal.SIGKILL)

        def is_last_built() -> bool:
            with builds.pause_builds():
                return builder.has_build(repository, commits[-1], recipe)

        wait(is_last_built)


@pytest.mark.thorough
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
    folders = BuildFolders(tmp_path, BuildStore.PULL_REQUEST, 1000, 2.5)
    builder = Builder(folders, {"cpu.model": "one"}, Sandbox(1, 2, ("/opt",)), retry_failed=True)
    decoded, where, recipe = decode_order(encode_order(builder, repository, workload("true")))
    assert (decoded.folders, decoded.machine_settings, decoded.sandbox, decoded.retry_failed) == (
        folders,
        builder.machine_settings,
        builder.sandbox,
        True,
    )
    assert (where, recipe.definition) == (repository, workload("true").definition)


def test_an_order_may_have_paths_that_are_no_text(workload: Callable[[str], Workload], tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    builder = Builder(BuildFolders(odd), {"cpu.model": "one"}, Sandbox(readable_folders=(str(odd),)))
    decoded, where, _ = decode_order(encode_order(builder, Repository(odd, "odd"), workload("true")))
    assert (decoded.folders, decoded.sandbox, where.path) == (builder.folders, builder.sandbox, odd)
