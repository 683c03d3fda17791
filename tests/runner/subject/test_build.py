import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from msgspec.structs import replace

from runner.adoption.build_failure_text import describe_build_failure
from runner.contract.report import Stage
from runner.errors import FaultwatchError
from runner.execution.sandbox import Sandbox
from runner.subject.build import Builder, BuildFailure
from runner.subject.build_folders import BuildFolders, unlock_build_folders
from runner.subject.build_record import RECORD_FILE, read_record
from runner.subject.repository import open_repository
from runner.subject.sandbox_needs import HIDDEN_NETWORK_HINT
from runner.subject.session_tree_restorer import COPY_FOLDER, restore_tree
from runner.system.descendants import list_children, list_descendants
from runner.system.pause_processes import Clock, pause_descendants
from runner.workload import Workload
from runner.workload.definition import load_workload
from tests.power_cut import disk

Run = Callable[..., str]


def workload(command: str | list[str], **build: object) -> Workload:
    return Workload.model_validate(
        {"workload": {"name": "w"}, "build": {"command": command, **build}, "run": {"command": "./program"}}
    )


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(BuildFolders(tmp_path / "builds"), {"cpu.model": "one"})


def test_builds_once_for_a_revision_and_a_recipe(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    recipe = workload("sh -c 'cp source program; echo built'")
    tree, first = builder.build(repository, head, recipe)
    assert (tree / "program").read_text() == "1"
    assert not (tree / ".git").exists()
    assert (first.cached, first.log) == (False, "built\n")
    again, second = builder.build(repository, head, recipe)
    assert (again, second.cached) == (tree, True)
    other, third = builder.build(repository, head, workload("sh -c 'cp source program; echo otherwise'"))
    assert other != tree
    assert not third.cached


def test_a_further_step_is_tried_in_a_built_tree_without_the_steps_before_it(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    recipe = workload("sh -c 'cp source program; date +%s%N > time'")
    tree, _ = builder.build(repository, head, recipe)
    built_files = {file.name: file.read_text() for file in tree.iterdir()}
    with builder.extend_build(workload("sh -c 'cat program program > input; rm source'"), tree) as extended_tree:
        assert extended_tree == tree, "the path of a tree may be in its programs"
        extended_files = {file.name: file.read_text() for file in tree.iterdir()}
        # A program may remove the input that the step has made, as compressors do.
        (tree / "input").unlink()
        restore_tree(tree)
        assert (tree / "input").read_text() == "11"
    assert extended_files == {"program": "1", "time": built_files["time"], "input": "11"}
    assert {file.name: file.read_text() for file in tree.iterdir()} == built_files
    with (
        pytest.raises(BuildFailure, match="exit code 3"),
        builder.extend_build(workload("sh -c 'rm time; exit 3'"), tree),
    ):
        pass
    again, build = builder.build(repository, head, recipe)
    assert (again, build.cached, (tree / "time").read_text()) == (tree, True, built_files["time"])


class Interrupted:
    """A turn during which others measure for a while, as soon as a build runs."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def give_way(self) -> None:
        pass

    @contextmanager
    def pause(self, builders: Collection[int] = (), clock: Clock | None = None) -> Iterator[None]:
        thread = Thread(target=self._stop_builds, args=(clock,))
        thread.start()
        yield
        thread.join()

    def _stop_builds(self, clock: Clock | None) -> None:
        while not list_descendants(list(list_children(os.getpid()))):
            time.sleep(0.02)
        time.sleep(0.3)
        with pause_descendants(list_children(os.getpid()), clock):
            time.sleep(self._seconds)


def test_while_others_measure_the_time_of_a_build_does_not_pass(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    interrupted = replace(builder, turn=Interrupted(seconds=2.5))
    recipe = workload("sh -c 'for i in 1 2 3 4 5; do sleep 0.2; done; cp source program'", timeout=2)
    tree, build = interrupted.build(repository, head, recipe)
    assert (tree / "program").read_text() == "1"
    assert build.seconds < 2


def test_a_build_that_hangs_ends_at_its_limit_although_others_measured(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    interrupted = replace(builder, turn=Interrupted(seconds=1))
    started_at = time.monotonic()
    with pytest.raises(BuildFailure, match="did not finish within 1 s"):
        interrupted.build(repository, head, workload("sleep 1000", timeout=1))
    assert 2 <= time.monotonic() - started_at < 10


def test_a_build_that_stops_itself_ends_at_its_limit(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure, match=r"did not finish within 0\.5 s"):
        builder.build(repository, head, workload(["sh", "-c", "kill -STOP $$"], timeout=0.5))


@pytest.mark.parametrize("umask", [0o077, 0o002])
def test_the_umask_of_the_caller_changes_no_permissions(
    builder: Builder, commit: Run, tmp_path: Path, umask: int
) -> None:
    # With 077, the user of root's sandbox could not enter the tree.
    head = commit("One", source="1")
    previous_umask = os.umask(umask)
    try:
        repository = open_repository(str(tmp_path / "subject"), tmp_path)
        tree, _ = builder.build(repository, head, workload("sh -c 'mkdir out && cp source out/program'"))
    finally:
        assert os.umask(previous_umask) == umask
    paths = (tree, tree / "source", tree / "out", tree / "out/program")
    assert [oct(path.stat().st_mode & 0o777) for path in paths] == ["0o755", "0o644", "0o755", "0o644"]


def test_another_processor_makes_another_build(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    tree, _ = builder.build(repository, head, workload("true"))
    newer = Builder(builder.folders, {"cpu.model": "two"})
    assert newer.build(repository, head, workload("true"))[0] != tree


def test_what_a_build_said_does_not_name_its_folder(builder: Builder, commit: Run, tmp_path: Path) -> None:
    # It differs from one way to build to the next, and `init` tells a failure that is the same only once.
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure) as caught:
        builder.build(repository, head, workload("sh -c 'echo $PWD/main.c: bad; exit 1'"))
    assert describe_build_failure(caught.value).splitlines()[1:] == ["    ./main.c: bad"]


def test_a_commit_whose_name_begins_alike_has_another_build(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    builder.build(repository, head, workload("true"))
    assert builder.has_build(repository, head, workload("true"))
    assert not builder.has_build(repository, head[:12] + "0" * 28, workload("true"))


def test_another_version_of_a_tool_makes_another_build(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    tool = tmp_path / "bin" / "rustc"
    tool.parent.mkdir()
    places = []
    for text in ("#!/bin/sh\n", "#!/bin/sh\n# newer\n"):
        tool.write_text(text)
        tool.chmod(0o755)
        recipe = workload("true", environment={"PATH": f"{tool.parent}:/usr/bin:/bin"})
        places.append(builder.build(repository, head, recipe)[0])
    assert places[0] != places[1]


def test_another_file_beside_the_workload_makes_another_build(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    own = tmp_path / "own"
    own.mkdir()
    (own / "workload.toml").write_text(
        '[workload]\nname = "w"\n[build]\ncommand = "cp version program"\ndirectory = "workload"\n'
        '[run]\ncommand = "./program"\n'
    )
    for version in ("1", "2"):
        (own / "version").write_text(version)
        tree, _ = builder.build(repository, head, load_workload(own / "workload.toml"))
        assert (tree / "program").read_text() == version


def test_a_failing_build_is_remembered_with_its_log(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("Broken", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    recipe = workload("sh -c 'echo no such thing >&2; echo x >>../count; exit 2'")
    for cached in (False, True):
        with pytest.raises(BuildFailure, match="ended with exit code 2") as caught:
            builder.build(repository, head, recipe)
        assert caught.value.build.log == "no such thing\n"
        assert caught.value.build.cached is cached


def test_the_message_of_a_failing_build_ends_with_the_first_error_of_its_log(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("Broken", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    log = "cc -c x.c\nx.c:3:1: error: expected Z\nmake: *** [Makefile:1: x] Error 1"
    with pytest.raises(BuildFailure, match=r"ended with exit code 2: x\.c:3:1: error: expected Z$"):
        builder.build(repository, head, workload(f"sh -c 'echo \"{log}\"; exit 2'"))


def test_what_a_build_said_has_no_colours(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure) as raised:
        builder.build(
            repository, head, workload("sh -c 'printf \"\\033[1;31merror: no such class\\033[0m\\n\"; exit 1'")
        )
    assert raised.value.message.endswith("ended with exit code 1: error: no such class")
    assert raised.value.build.log == "error: no such class\n"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("sleep 60", r"did not finish within 0\.3 s"),
        ("kill -KILL $$", "was terminated by SIGKILL"),
        ("echo x.c: fatal error: error writing to x.o: No space left on device; exit 1", "exit code 1"),
    ],
)
def test_what_the_host_did_to_a_build_is_not_remembered(
    script: str, said: str, builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    marker = tmp_path / "passed"
    recipe = workload(f"sh -c 'test -e {marker} && exit; {script}'", timeout=0.3)
    with pytest.raises(BuildFailure, match=said) as caught:
        builder.build(repository, head, recipe)
    assert caught.value.temporary
    assert caught.value.timed_out == said.startswith("did not finish")
    marker.touch()
    assert not builder.build(repository, head, recipe)[1].cached


def test_on_request_a_build_that_failed_is_made_again_and_another_is_not(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    recipe = workload(f"sh -c 'echo x >>{tmp_path}/count; test -e {tmp_path}/installed'")
    for _ in range(2):
        with pytest.raises(BuildFailure):
            builder.build(repository, head, recipe)
    (tmp_path / "installed").touch()
    again = replace(builder, retry_failed=True)
    assert [again.build(repository, head, recipe)[1].cached for _ in range(2)] == [False, True]
    assert (tmp_path / "count").read_text() == "x\n" * 2


def test_a_build_script_that_a_revision_lacks_is_the_failure_of_that_revision(
    builder: Builder, commit: Run, git: Run, tmp_path: Path
) -> None:
    before, after = commit("One", source="1"), commit("Two", configure="#!/bin/sh\n")
    (tmp_path / "subject" / "configure").chmod(0o755)
    fixed = commit("Three")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    for head, said in ((before, "does not exist"), (after, "is not executable")):
        with pytest.raises(BuildFailure, match=rf"\./configure {said}"):
            builder.build(repository, head, workload("./configure"))
    builder.build(repository, fixed, workload("./configure"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("./folder/configure", "does not exist"),
        ("./loop", "does not exist"),
        ("./script", "has an interpreter that does not exist"),
    ],
)
def test_a_build_script_that_cannot_be_started_is_the_failure_of_its_revision(
    command: str, said: str, builder: Builder, commit: Run, tmp_path: Path
) -> None:
    (tmp_path / "subject" / "loop").symlink_to("loop")
    (tmp_path / "subject" / "script").write_text("#!/missing/interpreter\n")
    (tmp_path / "subject" / "script").chmod(0o755)
    head = commit("A file in place of a folder", folder="")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure, match=rf"{command} {said}") as failure:
        builder.build(repository, head, workload(command))
    assert not failure.value.temporary


def test_a_build_script_that_is_not_executable_is_told_so_in_a_sandbox_too(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", configure="#!/bin/sh\n")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure, match=r"\./configure is not executable"):
        replace(builder, sandbox=Sandbox()).build(repository, head, workload("./configure"))


def test_a_build_that_fails_and_leaves_too_many_files_is_the_failure_of_its_revision(
    builder: Builder, commit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    monkeypatch.setattr("runner.system.tree_walk.MAX_ENTRIES", 10)
    with pytest.raises(BuildFailure, match="ended with exit code 3"):
        builder.build(repository, head, workload("sh -c 'touch $(seq 20); exit 3'"))


def test_a_build_that_could_not_download_says_what_and_how_cmake_does_without(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    line = "fatal: unable to access 'https://me:secret@g.example/': Could not resolve host: g.example"
    script = f'echo "{line}"; echo "  Build step for zlib failed: 2"; exit 1'
    with pytest.raises(BuildFailure) as caught:
        builder.build(repository, head, workload(["sh", "-c", script]))
    assert "Could not resolve host: g.example. CMake's FetchContent downloads zlib" in caught.value.message
    assert "-DFETCHCONTENT_SOURCE_DIR_ZLIB=FOLDER" in caught.value.message
    assert "secret" not in caught.value.message.partition(" ended ")[2]


def test_a_commit_whose_files_are_lost_is_the_failure_of_that_commit(
    builder: Builder, commit: Run, git: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    blob = git("rev-parse", "HEAD:source")
    (tmp_path / "subject" / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure) as caught:
        builder.build(repository, head, workload("true"))
    assert (caught.value.stage, caught.value.temporary) == (Stage.CHECKOUT, True)


def test_what_a_build_needs_and_this_host_lacks_is_told_and_not_remembered(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(BuildFailure, match=r"this host lacks a program that the build needs \(no-such-compiler\)"):
        builder.build(repository, head, workload("true", needs=["sh", "no-such-compiler"]))
    assert not builder.folders.folder.exists()
    builder.build(repository, head, workload("true", needs=["sh"]))


def test_a_build_tool_that_is_missing_is_not_blamed_on_the_revision(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    with pytest.raises(FaultwatchError, match="'no-such-make' was not found in the folders of PATH, /usr"):
        builder.build(repository, head, workload("no-such-make all"))
    assert not list(builder.folders.folder.glob("*/*/build.json"))


def test_a_tool_outside_of_the_builds_path_is_named_with_its_place(
    builder: Builder, commit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    tool = tmp_path / "tools" / "crago"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"/usr/bin:/bin:{tool.parent}")
    place = f"crago is at {tool}, outside the build's PATH"
    with pytest.raises(BuildFailure, match=place) as caught:
        builder.build(repository, head, workload("true", needs=["crago"]))
    assert caught.value.lacks_programs
    with pytest.raises(BuildFailure, match=f"exit code 127: {place}"):
        builder.build(repository, head, workload("sh -c 'crago build'"))
    with pytest.raises(FaultwatchError, match=place):
        builder.build(repository, head, workload("crago build"))


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_a_build_that_lacked_what_the_sandbox_hides_is_made_when_it_shows_it(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    store = tmp_path / "store"
    store.mkdir()
    (store / "module").write_text("2")
    recipe = workload("sh -c 'cp $STORE/module program'", environment={"STORE": str(store)})
    with pytest.raises(BuildFailure, match="FAULTWATCH_SANDBOX_READ=") as caught:
        replace(builder, sandbox=Sandbox(), reveals_host=True).build(repository, head, recipe)
    assert caught.value.temporary
    shown = replace(builder, sandbox=Sandbox(readable_folders=(str(store),)))
    assert (shown.build(repository, head, recipe)[0] / "program").read_text() == "2"


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
@pytest.mark.parametrize("said", ["Could not resolve host: x", "mkdir PLACE: permission denied", "crago: not found"])
@pytest.mark.parametrize("variable", ["STORE", "CARGO_HOME", "PIP_FIND_LINKS", "GOMODCACHE"])
def test_a_stranger_does_not_learn_from_a_failed_build_what_this_host_has(
    said: str, variable: str, builder: Builder, commit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names it gives, the message is the same whether they exist, and advises to show none of them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    place = tmp_path / ".ssh"
    log = said.replace("PLACE", str(place))
    path = f"/usr/bin:{place}"
    recipe = workload(f"sh -c 'echo {log}; exit 1'", environment={variable: str(place), "PATH": path}, needs=["sh"])
    told = []
    for _ in range(2):
        with pytest.raises(BuildFailure) as caught:
            replace(builder, sandbox=Sandbox(), retry_failed=True).build(repository, head, recipe)
        told.append((caught.value.message, caught.value.temporary, caught.value.build.log))
        place.mkdir(exist_ok=True)
        (place / "crago").write_text("#!/bin/sh\n")
        (place / "crago").chmod(0o755)
    assert told[0] == told[1]
    message = told[0][0].partition("exit code 1")[2]
    answers = {"Could": f": {HIDDEN_NETWORK_HINT}", "mkdir": "", "crago": ": crago: not found"}
    assert message == answers[re.split(r"\W", said)[0]]
    assert not [advice for advice in ("outside of the sandbox", "SANDBOX_READ", ".ssh") if advice in message]


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_a_stranger_does_not_learn_which_programs_lie_where_the_sandbox_shows_nothing(
    builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    place = tmp_path / "private"
    needs = ["crago", f"{place}/crago"]
    recipe = workload("true", environment={"PATH": f"/usr/bin:{place}"}, needs=needs)
    told = []
    for _ in range(2):
        with pytest.raises(BuildFailure) as caught:
            replace(builder, sandbox=Sandbox()).build(repository, head, recipe)
        told.append(caught.value.message)
        place.mkdir(exist_ok=True)
        (place / "crago").write_text("#!/bin/sh\n")
        (place / "crago").chmod(0o755)
    assert told[0] == told[1] == f"the PATH of the sandbox lacks programs that the build needs: crago, {place}/crago"


def test_what_is_run_does_not_decide_what_is_built(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    tree, _ = builder.build(repository, head, workload("cp source program"))
    other = {"workload": {"name": "other", "timeout": 3}, "run": {"command": "./program -x", "huge_pages": "never"}}
    same = Workload.model_validate({**other, "build": {"command": "cp source program", "timeout": 9}})
    again, build = builder.build(repository, head, same)
    assert (again, build.cached) == (tree, True)
    assert same.definition != workload("cp source program").definition


def test_a_build_happens_where_its_program_runs(builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    tree, _ = builder.build(repository, head, workload("sh -c 'pwd >place; echo $HOME >home'"))
    assert (tree / "place").read_text() == (tree / "home").read_text() == f"{tree}\n"


def test_a_script_of_a_virtual_environment_runs_from_its_build(builder: Builder, commit: Run, tmp_path: Path) -> None:
    # As of an entry point: with the absolute path of the environment's interpreter.
    head = commit("One", make='import sys\nprint(f"#!{sys.executable}\\nimport sys\\nprint(sys.prefix)")\n')
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    script = "python3 -m venv --without-pip venv && venv/bin/python make >program && chmod +x program"
    tree, _ = builder.build(repository, head, workload(f"sh -c '{script}'"))
    assert (tree / "program").read_text().startswith(f"#!{tree}/venv/bin/python\n")
    done = subprocess.run(["./program"], cwd=tree, check=True, capture_output=True, text=True)
    assert done.stdout == f"{tree}/venv\n"


def test_a_build_makes_room_by_removing_what_nobody_used_for_long(commit: Run, tmp_path: Path) -> None:
    builder = Builder(BuildFolders(tmp_path / "builds", max_days=7), {})
    commits = [commit(title, source=title) for title in ("old", "recent", "new")]
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    places = [builder.build(repository, head, workload("true"))[0].parent for head in commits[:2]]
    unlock_build_folders()
    for place, days in zip(places, (8, 6), strict=True):
        used = time.time() - days * 86_400
        os.utime(place.with_name(f"{place.name}.lock"), (used, used))
    newest = builder.build(repository, commits[2], workload("true"))[0].parent
    assert [place.exists() for place in (*places, newest)] == [False, True, True]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"build": 1}', "\0" * 4096])
def test_a_damaged_record_is_one_line_and_a_new_build(
    content: str, builder: Builder, commit: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    lines: list[str] = []
    builder = replace(builder, report_repeated_build=lines.append)
    tree, _ = builder.build(repository, head, workload("cp source program"))
    (tree.parent / RECORD_FILE).write_text(content)
    (tree / "program").unlink()
    again, build = builder.build(repository, head, workload("cp source program"))
    assert not build.cached
    assert (again / "program").exists()
    assert lines == [f"repeating the build in {tree.parent}: its build.json is empty or damaged"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
@pytest.mark.parametrize("journal", [True, False], ids=["journal", "nothing"])
def test_a_power_cut_right_after_a_build_costs_at_most_that_build(journal: bool, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    try:
        with disk(tmp_path / "disk", tmp_path / "storage", "32m") as storage:
            builder = Builder(BuildFolders(storage.folder / "builds"), {})
            place = builder.build(repository, head, workload("cp source program"))[0].parent
            unlock_build_folders()
            storage.cut(journal=journal)
            storage.restart()
            assert read_record(place) is not None, "it was written when the build had ended"
            tree, _ = builder.build(repository, head, workload("cp source program"))
            assert (tree / "program").read_text() == "1"
            unlock_build_folders()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no file system can be mounted: {error}")


@pytest.mark.parametrize("left", ["no record", "a record that is being written", "no tree and no copy"])
def test_an_interrupted_build_is_made_again(left: str, builder: Builder, commit: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    tree, _ = builder.build(repository, head, workload("cp source program"))
    record = tree.parent / RECORD_FILE
    if left == "a record that is being written":
        record.with_name(f"{RECORD_FILE}.partial").write_text("{")
    if left == "no tree and no copy":
        for folder in (tree, tree.parent / COPY_FOLDER):
            shutil.rmtree(folder)
    else:
        record.unlink()
    (tree.parent / "left behind").mkdir()
    again, build = builder.build(repository, head, workload("cp source program"))
    assert (again / "program").exists()
    assert not build.cached
    assert not (tree.parent / "left behind").exists()
