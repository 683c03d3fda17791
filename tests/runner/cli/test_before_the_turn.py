"""What a command can know beforehand it says at once, also while another one measures on this host."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.host.lock import HostTurn
from tests.runner.commands import command_line, faultwatch, git, make_history, served, variables

LINK = f"160000,{'1' * 40},deps/library"
GONE = "repo has no commit 'gone'"
LACKS = "repo cannot be checked out: this clone lacks the submodule deps/library at 111111111111"


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


def test_a_history_that_is_whole_somewhere_waits_to_be_measured(place: Path) -> None:
    words = command_line("history", "repo", "main~1..linked")
    environment = variables(place / "home", FAULTWATCH_HOST_LOCK=str(place / "lock"))
    with subprocess.Popen(words, env=environment, cwd=place, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr
        line = waiting.stderr.readline()
        waiting.terminate()
    assert "waiting for process" in line


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
            assert done[0] != 0
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
