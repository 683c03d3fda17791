"""What a command can know beforehand it says at once, also while another one measures on this host."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.host.host_turn import HostTurn
from tests.runner.commands import WORKLOAD, command_line, faultwatch, git, make_history, served, variables

LINK = f"160000,{'1' * 40},deps/library"
GONE = "repo has no commit 'gone'"
LACKS = "repo cannot be checked out: this clone lacks the submodule deps/library at 111111111111"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 7\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with ``repo``, whose branch ``linked`` needs a submodule; the host is taken by somebody else."""
    folder = tmp_path_factory.mktemp("turn")
    repo = folder / "repo"
    make_history(repo, [10, 20])
    git(repo, "checkout", "--quiet", "-b", "linked")
    for number in range(2):
        (repo / ".gitmodules").write_text(f'[submodule "library"]\n\tpath = deps/library\n\turl = ./{number}\n')
        git(repo, "update-index", "--add", "--cacheinfo", LINK)
        git(repo, "add", ".gitmodules")
        git(repo, "commit", "--quiet", "--message", f"Linked {number}")
    git(repo, "checkout", "--quiet", "-f", "-b", "pointing", "main")
    (repo / ".gitattributes").write_text("data/*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (repo / "data").mkdir()
    (repo / "data" / "big.bin").write_text(POINTER)
    (repo / "pointer.txt").write_text(POINTER)
    git(repo, "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.process=", "add", ".")
    git(repo, "commit", "--quiet", "--message", "Keep data in Git LFS")
    git(repo, "checkout", "--quiet", "-f", "-b", "torn", "main")
    (repo / "torn.txt").write_text("This will be gone.\n")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message", "Tear")
    name = git(repo, "rev-parse", "HEAD:torn.txt")
    (repo / ".git" / "objects" / name[:2] / name[2:]).unlink()
    git(repo, "checkout", "--quiet", "-f", "main")
    lock = folder / "lock"
    lock.touch()
    with HostTurn(lock, print) as turn:
        turn.begin()
        yield folder


def said(place: Path, *words: str, url: str = "") -> str:
    """Return the messages of a command that does not wait."""
    lock = str(place / "lock")
    status, _, messages = faultwatch(place / "home", *words, url=url, timeout=30, FAULTWATCH_HOST_LOCK=lock)
    assert status == 2, messages
    assert "waiting for" not in messages
    return messages


OF_ONE = [
    ("measure", "repo", "--revision", "{}"),
    ("profile", "repo", "--revision", "{}"),
    ("try", "repo", "--with", "allocator=jemalloc", "--revision", "{}"),
    ("bisect", "repo", "--change", "variable.X=1..2", "--revision", "{}"),
]
OF_A_RANGE = [
    ("gate", "repo", "main..{}"),
    ("compare", "repo", "main..{}"),
    ("history", "repo", "{0}~1..{0}"),
    ("bisect", "repo", "{0}~1..{0}"),
    ("profile", "repo", "main..{}"),
]


@pytest.mark.parametrize("words", [*OF_ONE, *OF_A_RANGE], ids=" ".join)
def test_a_mistyped_revision_and_a_missing_submodule_are_refused_at_once(words: tuple[str, ...], place: Path) -> None:
    gone = said(place, *(word.format("gone") for word in words))
    assert "repo has no commit 'gone" in gone
    lacks = said(place, *(word.format("linked") for word in words))
    assert LACKS in lacks
    assert "incomplete = true" in lacks


@pytest.mark.parametrize("words", [OF_ONE[0], OF_A_RANGE[0], OF_A_RANGE[2]], ids=" ".join)
def test_content_that_git_lfs_keeps_and_files_that_the_clone_lacks_are_refused_at_once(
    words: tuple[str, ...], place: Path
) -> None:
    pointing = said(place, *(word.format("pointing") for word in words))
    assert "this clone lacks an intact copy of data/big.bin, which is stored in Git LFS" in pointing
    assert "run `git lfs fetch --all`" in pointing.splitlines()[-1]
    torn = said(place, *(word.format("torn") for word in words))
    assert "this clone lacks the file torn.txt" in torn
    assert "`git fetch --refetch`" in torn.splitlines()[-1]


def test_a_repository_that_lacks_a_part_is_not_adopted_only_after_a_wait(place: Path) -> None:
    whole = place / "adopted"
    git(place, "clone", "--quiet", "--no-checkout", "--branch=pointing", str(place / "repo"), str(whole))
    git(whole, "config", "filter.lfs.required", "false")
    lacks = "lacks an intact copy of data/big.bin"
    assert lacks in said(place, "init", "--yes", "--repo", "adopted", "--build", "make", "--run", "true")
    (whole / "workload.toml").write_text(WORKLOAD)
    assert lacks in said(place, "init", "--yes", "adopted")


def test_a_partial_clone_that_cannot_reach_its_remote_is_told_how_to_complete_it(place: Path) -> None:
    partial = place / "partial"
    git(place / "repo", "config", "uploadpack.allowFilter", "true")
    address = (place / "repo").as_uri()
    options = ("--quiet", "--no-checkout", "--filter=blob:none", "--no-local", "--single-branch", "--branch=main")
    git(place, "clone", *options, address, str(partial))
    git(partial, "remote", "set-url", "origin", (place / "gone").as_uri())
    messages = said(place, "measure", str(place / "repo"), "--repo", str(partial), "--committed-only")
    assert "from promisor remote" in messages
    assert "clone the project again without --filter" in messages.splitlines()[-1]


def test_a_shallow_clone_is_told_how_to_get_older_commits(place: Path) -> None:
    shallow = place / "shallow"
    git(place, "clone", "--quiet", "--depth=1", "--branch=main", (place / "repo").as_uri(), str(shallow))
    messages = said(place, "measure", str(shallow), "--revision", "HEAD~1")
    assert "has no commit 'HEAD~1'" in messages
    assert "git fetch --unshallow" in messages


def test_a_history_that_is_whole_somewhere_waits_to_be_measured(place: Path) -> None:
    words = command_line("history", "repo", "main~1..linked")
    environment = variables(place / "home", FAULTWATCH_HOST_LOCK=str(place / "lock"))
    with subprocess.Popen(words, env=environment, cwd=place, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr
        line = waiting.stderr.readline()
        waiting.terminate()
    assert "waiting for process" in line


def test_a_suite_that_cannot_be_written_is_refused_at_once(place: Path) -> None:
    assert "/proc/suite.json cannot be written" in said(place, "measure", "repo", "--suite", "/proc/suite.json")
    same = said(place, "measure", "repo", "--suite", "same.json", "--output", "same.json")
    assert "--suite and --output use the same file" in same


def test_stacks_that_cannot_be_written_are_refused_at_once(place: Path) -> None:
    (place / "taken").touch()
    assert "taken/stacks cannot be written" in said(place, "profile", "repo", "--stacks", "taken/stacks")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--min-difference", "1e30"), "'--min-difference': '1e30' is too large"),
        (("--env", f"A={'x' * 5000}"), "variables.A: String should have at most 4000 characters"),
        (("--change", f"variable.A={'x' * 5000}..1"), "before: String should have at most 4000 characters"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_a_search_cannot_ask_the_service_is_refused_at_once(
    options: tuple[str, ...], reason: str, place: Path
) -> None:
    commits = () if "--change" in options else ("main~1..main",)
    assert reason in said(place, "bisect", "repo", *commits, *options)


def test_a_job_and_a_nightly_run_know_it_too(place: Path) -> None:
    matrix = '[[workloads]]\npath = "repo"\nrevision = "gone"\n'
    (place / "matrix.toml").write_text(matrix)
    with served(place / "served") as proxy:
        question = {"kind": "measure", "subject": "repo", "case": "pages", "host": "box"}
        for revision, reason in (("gone", GONE), ("linked", LACKS)):
            order = {"question": question | {"revision": revision}, "backend": "caller"}
            number = proxy.ask("/jobs", order)["id"]
            words = ("job", "run", str(number), "--repo", "repo", "repo/workload.toml")
            lock = str(place / "lock")
            done = faultwatch(place / "home", *words, url=proxy.url, timeout=30, FAULTWATCH_HOST_LOCK=lock)
            assert done[0] == 1, done[2]
            assert reason in str(proxy.ask(f"/jobs/{number}")["sentence"])
        done = faultwatch(
            place / "home",
            "nightly",
            "--matrix",
            "matrix.toml",
            "--json",
            url=proxy.url,
            timeout=30,
            FAULTWATCH_HOST_LOCK=lock,
        )
        assert done[1], done[2]
        assert GONE in json.loads(done[1])["cells"][0]["problem"]
