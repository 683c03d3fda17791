"""The demo's history: the same everywhere, and with steps in its counts exactly where they are meant to be.

What the history holds is written down here and nowhere else: the service has to find it.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from runner.perf.perf_stat import count_faults
from runner.process_state.process_state import ProcessState

FOLDER = Path(__file__).parents[2] / "workloads" / "copy_service"
SCRIPT = FOLDER / "make_history.py"
HEAD = "795c47d86aeea7bfbe8890745f30d99474147458"

REGRESSION = "Give the buffer back between requests to keep the resident size small"
ONE_PAGE = "Compute the CRC eight bytes at a time"
IMPROVEMENT = "Keep the buffer while requests come in"
BROKEN = "Pass a request as one structure"
BEFORE_CONFIG_CHANGE = "Answer requests in a file of its own"

MIB, OPERATIONS = 8, 25
PAGES = MIB * 256
COUNTED = 5
"""Operations of the executions that are counted here: each gives the buffer back, as each of the demo's does."""
COMMAND = ["./copyserve", "--mib", str(MIB), "--operations", str(COUNTED)]
PLAIN: dict[str, str] = {}
JEMALLOC = {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}


def make(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), str(directory)], capture_output=True, text=True, check=False)


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("history") / "copy-service"
    done = make(directory)
    assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture(scope="module")
def titles(history: Path) -> list[str]:
    return git(history, "log", "--reverse", "--format=%s", "main").splitlines()


@pytest.fixture(scope="module")
def builds(history: Path, titles: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build every revision; a title stands in the result where its build succeeded, and no build warned."""
    built = {}
    commits = git(history, "rev-list", "--reverse", "main").splitlines()
    for title, commit in zip(titles, commits, strict=True):
        folder = tmp_path_factory.mktemp("build")
        git(history, "worktree", "add", "--quiet", "--detach", str(folder / "tree"), commit)
        done = subprocess.run(["make", "copyserve"], cwd=folder / "tree", capture_output=True, text=True, check=False)
        if done.returncode == 0:
            assert "warning" not in done.stderr, done.stderr
            built[title] = folder / "tree"
    return built


def test_the_hashes_are_the_same_everywhere(history: Path) -> None:
    assert git(history, "rev-parse", "main") == HEAD
    assert git(history, "log", "-1", "--format=%s", "config-change") == BEFORE_CONFIG_CHANGE


def test_a_users_git_settings_do_not_change_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[commit]\n\tgpgsign = true\n[core]\n\tautocrlf = true\n[init]\n\tdefaultBranch = trunk\n")
    for name, value in {
        "GIT_CONFIG_GLOBAL": str(settings),
        "GIT_AUTHOR_NAME": "Somebody Else",
        "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "TZ": "Asia/Tokyo",
    }.items():
        monkeypatch.setenv(name, value)
    assert make(tmp_path / "history").returncode == 0
    monkeypatch.undo()
    assert git(tmp_path / "history", "rev-parse", "main") == HEAD


def test_the_second_time_it_leaves_it_alone(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "history"
    assert make(directory).returncode == 0
    (directory / "note").write_text("kept")
    assert make(directory).returncode == 0
    assert (directory / "note").exists()
    assert [entry.name for entry in directory.parent.iterdir()] == ["history"]


def test_an_older_version_of_it_is_replaced(tmp_path: Path) -> None:
    directory = tmp_path / "history"
    assert make(directory).returncode == 0
    (directory / ".git" / "faultwatch-history").write_text("an older version")
    (directory / "note").write_text("goes")
    assert make(directory).returncode == 0
    assert not (directory / "note").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["history"]


def test_it_does_not_touch_a_directory_of_somebody_else(tmp_path: Path) -> None:
    directory = tmp_path / "precious"
    directory.mkdir()
    (directory / "file").write_text("precious")
    done = make(directory)
    assert done.returncode == 1
    assert "name another directory" in done.stderr
    assert "Traceback" not in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["precious"]


def test_it_has_what_a_history_has(titles: list[str]) -> None:
    assert len(titles) == len(set(titles)) >= 18
    order = [titles.index(title) for title in (REGRESSION, ONE_PAGE, BEFORE_CONFIG_CHANGE, BROKEN, IMPROVEMENT)]
    assert order == sorted(order)


@pytest.mark.thorough
def test_one_commit_does_not_build_and_the_others_build_without_a_warning(
    builds: dict[str, Path], titles: list[str]
) -> None:
    assert set(titles) - set(builds) == {BROKEN}


def test_it_reports_what_it_did(builds: dict[str, Path], titles: list[str]) -> None:
    program = builds[titles[-1]]
    done = subprocess.run(
        ["./copyserve", "--mib", "1", "--operations", "3"], cwd=program, capture_output=True, check=True
    )
    report = json.loads(done.stdout.splitlines()[-1])
    assert report.keys() == {"operations", "seconds", "bytes", "checksum"}
    assert (report["operations"], report["bytes"]) == (3, 3 * 1048576)
    assert 0 < report["seconds"] < 5


def test_it_refuses_bad_options(builds: dict[str, Path], titles: list[str]) -> None:
    for options in (["--mib"], ["--mib", "0"], ["--mib", "8k"], ["--mib", ""], ["--unknown", "1"]):
        done = subprocess.run(["./copyserve", *options], cwd=builds[titles[-1]], capture_output=True, check=False)
        assert (done.returncode, done.stdout) == (2, b""), options


def minor_faults(folder: Path, variables: dict[str, str]) -> int:
    """Count until two executions in a row agree: another process can cost one a fault in a file that both map."""
    state = ProcessState(variables=variables, huge_pages="never")
    before = None
    for _ in range(10):
        readings = count_faults(COMMAND, directory=folder, state=state, timeout=60).sample.readings
        if readings["minor-faults"].value is None:
            pytest.skip(f"no minor faults counted here: {readings['minor-faults'].reason}")
        now = int(readings["minor-faults"].value)
        if now == before:
            return now
        before = now
    raise AssertionError("no two executions in a row gave the same count")


def steps(builds: dict[str, Path], titles: list[str], variables: dict[str, str]) -> Iterator[tuple[str, int]]:
    counts = {title: minor_faults(builds[title], variables) for title in titles if title in builds}
    names = list(counts)
    for before, after in pairwise(names):
        if counts[before] != counts[after]:
            yield after, counts[after] - counts[before]


@pytest.mark.perf
@pytest.mark.parametrize(
    "variables", [PLAIN, pytest.param(JEMALLOC, marks=pytest.mark.thorough)], ids=["glibc", "jemalloc"]
)
def test_the_counts_step_where_they_are_meant_to_and_nowhere_else(
    builds: dict[str, Path], titles: list[str], variables: dict[str, str]
) -> None:
    found = dict(steps(builds, titles, variables))
    given_back = (COUNTED - 1) * PAGES
    assert list(found) == [REGRESSION, ONE_PAGE, IMPROVEMENT]
    # Looking up madvise, which the program now calls, can touch a few pages more.
    assert given_back <= found[REGRESSION] <= given_back + 8
    assert found[ONE_PAGE] == 1
    assert found[IMPROVEMENT] == -given_back


@pytest.mark.perf
def test_the_allocator_moves_the_count_of_the_same_commit(builds: dict[str, Path]) -> None:
    program = builds[BEFORE_CONFIG_CHANGE]
    chunk_pages = 16
    moved = minor_faults(program, JEMALLOC) - minor_faults(program, PLAIN)
    assert moved >= (COUNTED - 1) * chunk_pages


def test_the_workload_file_names_this_case() -> None:
    assert shutil.which("make"), "the demo is built with make"
    text = (FOLDER / "workload.toml").read_text()
    assert f"mib = [{MIB}]" in text
    assert f"operations = [{OPERATIONS}]" in text
