"""Runs the real command against a real service, behind a proxy that can fail as proxies and networks do."""

import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.preloaded import start

ROOT = Path(__file__).parents[2]
WORKLOAD = """
[workload]
name = "pages"
[build]
command = "cc -O0 -o pages pages.c"
[run]
command = ["./pages"]
huge_pages = "never"
"""
PROGRAM = """
#include <sys/mman.h>
int main(void) {{
    char *pages = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < {pages}; i++) pages[4096 * i] = 1;
    return {number} * 0;
}}
"""
GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Author",
    "GIT_AUTHOR_EMAIL": "author@example.invalid",
    "GIT_COMMITTER_NAME": "Author",
    "GIT_COMMITTER_EMAIL": "author@example.invalid",
}


def git(folder: Path, *words: str) -> str:
    """Run git in a folder; return what it printed."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), **GIT}
    done = subprocess.run(
        ["git", "-C", str(folder), *words], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip()


def make_history(folder: Path, pages: Sequence[int], workload: str = WORKLOAD) -> list[str]:
    """Make a repository with a commit for each number of pages that the program touches; return the commits."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "workload.toml").write_text(workload, encoding="utf-8")
    commits = []
    for number, count in enumerate(pages):
        (folder / "pages.c").write_text(PROGRAM.format(pages=count, number=number), encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", f"Commit {number}")
        commits.append(git(folder, "rev-parse", "HEAD"))
    return commits


def command_line(*words: str) -> list[str]:
    """Return the command line of the command of this checkout."""
    return [sys.executable, "-m", "runner", *words]


def variables(home: Path, url: str = "", **more: str) -> dict[str, str]:
    """Return the environment of a command with its own home."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("FAULTWATCH_U", "FAULTWATCH_T"))}
    own |= {"FAULTWATCH_HOME": str(home), "FAULTWATCH_HOST": "box", "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return own | ({"FAULTWATCH_URL": url} if url else {}) | more


def faultwatch(
    home: Path, *words: str, url: str = "", timeout: float = 300, cwd: Path | None = None, **more: str
) -> tuple[int, str, str]:
    """Run the command; return its exit code, its output and its messages."""
    with compiled_programs(home), tempfile.TemporaryDirectory() as folder:
        output, errors = (Path(folder, name) for name in ("output", "errors"))
        command = start(
            *("faultwatch", *words),
            variables=variables(home, url, **more),
            folder=cwd or home.parent,
            output=output,
            errors=errors,
        )
        status = command.wait(timeout)
        return status, output.read_text(), errors.read_text()


@contextmanager
def compiled_programs(home: Path) -> Iterator[None]:
    """Give a new home the runner's own programs that another home has compiled: it takes 1.5 s to compile them.

    Their names contain the hashes of their sources, so a runner that has other sources compiles them.
    """
    own, shared = home / "programs", Path(_make_program_folder().name)
    if not own.exists():
        shutil.copytree(shared, own)
    yield
    for program in own.glob("*-*"):
        if program.is_file() and not (shared / program.name).exists():
            shutil.copy2(program, shared)


@functools.cache
def _make_program_folder() -> "tempfile.TemporaryDirectory[str]":
    folder = tempfile.TemporaryDirectory(prefix="programs-")
    atexit.register(folder.cleanup)
    return folder


@dataclass
class Proxy:
    """A proxy before a real service.

    Attributes
    ----------
    fail
        Returns the status and the body with which to answer a request, by method and path; None to pass it on.
    requests
        The methods and paths of all requests.
    """

    service: str
    url: str = ""
    fail: Callable[[str, str, bytes], tuple[int, str] | None] = lambda *_: None
    requests: list[tuple[str, str]] = field(default_factory=list)

    def count(self, method: str, pattern: str) -> int:
        """Return how many requests there were."""
        return sum(verb == method and bool(re.search(pattern, path)) for verb, path in self.requests)

    def ask(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """Ask the service itself."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.service}/api/v1{path}", data=data, headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            document: dict[str, object] = json.load(answer)
            return document


@contextmanager
def served(home: Path, *, by_fork: bool = True, **more: str) -> Iterator[Proxy]:
    """Serve a home's database through a proxy.

    ``by_fork=False`` starts the service as a program of its own, for those who look at processes from outside.
    """
    home.mkdir(parents=True, exist_ok=True)
    port_file = home / "port"
    port_file.unlink(missing_ok=True)
    log = home.parent / "service.log"
    words = ["serve", "--port", "0", "--port-file", str(port_file)]
    environment = variables(home, FAULTWATCH_JOBS_HERE="no", **more)
    with _fork_of_service(words, environment, log) if by_fork else _process_of_service(words, environment, log) as runs:
        while not port_file.exists() or not port_file.read_text().strip():
            assert runs(), log.read_text()
            threading.Event().wait(0.02)
        with _forwarding(Proxy(f"http://127.0.0.1:{port_file.read_text().strip()}")) as proxy:
            yield proxy


@contextmanager
def _fork_of_service(words: list[str], environment: dict[str, str], log: Path) -> Iterator[Callable[[], bool]]:
    service = start(*("faultwatch-service", *words), variables=environment, folder=log.parent, output=log, errors=log)
    try:
        yield service.is_running
    finally:
        service.kill()


@contextmanager
def _process_of_service(words: list[str], environment: dict[str, str], log: Path) -> Iterator[Callable[[], bool]]:
    command = [sys.executable, "-m", "service", *words]
    with (
        log.open("ab") as output,
        subprocess.Popen(
            command, env=environment, cwd=log.parent, stdout=output, stderr=output, start_new_session=True
        ) as service,
    ):
        try:
            yield lambda: service.poll() is None
        finally:
            service.kill()


@contextmanager
def _forwarding(proxy: Proxy) -> Iterator[Proxy]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            method = self.command
            proxy.requests.append((method, self.path))
            status, answer = proxy.fail(method, self.path, body) or self._passed_on(method, body)
            data = answer.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", "text/html" if answer.startswith("<") else "application/json")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT  # noqa: N815

        def _passed_on(self, method: str, body: bytes) -> tuple[int, str]:
            request = urllib.request.Request(
                proxy.service + self.path,
                data=body if method != "GET" else None,
                method=method,
                headers={"Content-Type": "application/json", "Accept": "application/json"},
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
