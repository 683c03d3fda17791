"""Fixtures that several rooms share."""

import fcntl
import gc
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.busy import busy_machine

# What takes long is measured in bench/: on a busy machine any example can take any time.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_sessionstart() -> None:
    """Collect the tests without looking for garbage: nearly all that is made then stays."""
    gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Of the processes of pytest-xdist, let the first compile the tests of a new clone, and the others find them so."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    with (Path(session.config.option.basetemp).parent / "collection.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if os.environ["PYTEST_XDIST_WORKER"] == "gw0" else fcntl.LOCK_SH)
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that measure or use a browser: one of them that came last would run alone."""
    long = {item.path for item in items if any(item.get_closest_marker(name) for name in ("perf", "browser"))}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """Look for garbage less often, and only in what the tests make: it took an eighth of their time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _own_host_lock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the commands that tests run not wait for others on this machine: their counts are exact beside each other."""
    lock = tmp_path_factory.mktemp("host") / "lock"
    lock.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAULTWATCH_HOST_LOCK", str(lock))
        yield


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> Iterator[None]:
    """Let what is started be interrupted, also where the tests run in the background of a shell, which forbids it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def _other_work() -> Iterator[None]:
    """Keep the machine busy beside the tests, for ``make test-busy``."""
    if os.environ.get("FAULTWATCH_TEST_BUSY"):
        with busy_machine():
            yield
    else:
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_explanations() -> None:
    """Let gates explain what got worse only where a test asks for it: profiles take seconds."""
    os.environ.setdefault("FAULTWATCH_EXPLAIN", "0")


Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run git in a fresh repository with an identity and fixed dates."""
    folder = tmp_path / "subject"
    folder.mkdir()

    def run(*arguments: str) -> str:
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(tmp_path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Author",
            "GIT_AUTHOR_EMAIL": "author@example.invalid",
            "GIT_COMMITTER_NAME": "Author",
            "GIT_COMMITTER_EMAIL": "author@example.invalid",
        }
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout.strip()

    run("init", "--quiet", "--initial-branch=main")
    return run


@pytest.fixture
def commit(git: Git, tmp_path: Path) -> Callable[..., str]:
    """Write files into the repository and commit them; return the hash."""

    def make(title: str, **files: str) -> str:
        for name, text in files.items():
            file = tmp_path / "subject" / name.replace("__", ".")
            file.write_text(text, encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", title)
        return git("rev-parse", "HEAD")

    return make
