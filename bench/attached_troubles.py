"""Whether ``faultwatch attach`` names the trouble of a live program, and is silent on one that is well.

``python -m bench.attached_troubles [--full] [PART OF A TITLE …]``, run as ``make bench-attached-troubles``; needs
redis, memcached, nginx and PostgreSQL with their load generators, and the compilers. Twenty-two programs run for ever
with a planted trouble, and as many without one. What is right follows from the program: no rule is asked for it. Three
programs, drawn in each run, take two minutes; all of them, with ``make bench-attached-troubles-full``, half an
hour.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.attached import PORT, run, run_postgresql
from bench.report import finish_report, is_full, list_words, show_steps
from runner.servers.server_processors import split_processors

PROGRAMS = Path(__file__).with_name("attached_programs")
WORKLOADS = Path(__file__).resolve().parents[1] / "workloads"
OBSERVED_SECONDS = 30
"""The default of ``--for``."""
STARTED_SECONDS = 2.5
"""After which a program has started, and what it does at its start is no longer seen."""
N_DRAWN = 3
"""How many programs are observed if not all are."""

_CONTENDED = frozenset({"mmap-lock", "file-windows"})
"""What the report of the column store found, and why."""
Start = Callable[[Path], AbstractContextManager[int]]
"""Starts a program in a folder, and yields the process that is observed."""


@dataclass(frozen=True)
class Live:
    """A program that runs, and the rules of which one must be its first finding; none where it is well."""

    title: str
    start: Start
    rules: frozenset[str] = frozenset()


def main() -> None:
    """Build the programs, observe each, and judge what is said of it."""
    right = {True: 0, False: 0}
    misses = []
    with tempfile.TemporaryDirectory(prefix="bench-attached-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        build_programs(folder)
        programs = choose_programs(list_words())
        for number, live in show_steps(list(enumerate(programs)), "programs"):
            own = folder / str(number)
            own.mkdir()
            with live.start(own) as pid:
                result = observe(pid, own)
            findings = [finding["rule"] for finding in result["diagnosis"]["findings"]]
            is_right = findings[0] in live.rules if live.rules and findings else not live.rules and not findings
            right[bool(live.rules)] += is_right
            said = ", ".join(findings) or "nothing"
            print(f"{'right' if is_right else 'WRONG'}  {live.title}: {said}", flush=True)
            if not is_right:
                wanted = " or ".join(sorted(live.rules)) or "nothing"
                misses.append(f"{live.title}: {said}, {wanted} is right")
                print("       " + "; ".join(result["diagnosis"]["evidence"])[:600], flush=True)
    troubled, healthy = sum(bool(live.rules) for live in programs), sum(not live.rules for live in programs)
    figures = {"troubled": f"{right[True]} of {troubled}", "healthy": f"{right[False]} of {healthy}"}
    finish_report("attached-troubles", misses, figures)


def choose_programs(parts: list[str]) -> list[Live]:
    """Return the programs whose titles contain all the parts; without parts, all or a few drawn at random."""
    programs = list(list_programs())
    if not parts and not is_full():
        return random.sample(programs, N_DRAWN)
    return [live for live in programs if all(part in live.title for part in parts)]


def observe(pid: int, home: Path) -> dict[str, Any]:
    """Observe a process; return the result."""
    words = [sys.executable, "-m", "faultwatch", "attach", str(pid), "--for", f"{OBSERVED_SECONDS}s", "--json", "-q"]
    environment = {**os.environ, "FAULTWATCH_HOME": str(home / "home")}
    completed = subprocess.run(
        [*words, "--no-flame-graphs"], capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    if completed.returncode:
        return {"diagnosis": {"findings": [], "evidence": [f"attach failed: {completed.stderr.strip()[-300:]}"]}}
    result: dict[str, Any] = json.loads(completed.stdout)
    return result


def build_programs(folder: Path) -> None:
    """Build the planted programs and the bundled servers into a folder."""
    builds = (
        ["gcc", "-g", "-O1", "-fno-inline", "-pthread", "-o", "service", "service.c"],
        ["javac", "-g", "Service.java"],
        ["go", "build", "-o", "service-go", "service.go"],
        ["rustc", "-O", "-g", "-o", "service-rust", "service.rs"],
    )
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    for words in builds:
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    for name in ("copy_server", "scan_server", "match_server"):
        shutil.copytree(WORKLOADS / name, folder / name)
        subprocess.run(["make", "-s"], cwd=folder / name, check=True)


def list_programs() -> Iterator[Live]:
    """Yield the programs, each in trouble and well."""
    kinds = {
        "copy": {"temporary-buffers"},
        "tree": {"temporary-buffers", "returned-memory"},  # malloc_trim moves the break, or advises
        "arena": {"returned-memory"},
        "snapshot": {"copies-after-fork"},
        "grow": {"growing-buffer", "temporary-buffers"},
        "thread": {"thread-per-task"},
        "window": {"file-windows"},
        "shared": {"shared-memory", "temporary-buffers"},
        "lookup": {"read-before-write", "temporary-buffers"},
        "contend": {"mmap-lock"},
        "first-use": {"concurrent-first-use", "temporary-buffers", "thread-per-task"},
        "random": {"read-ahead-off"},
    }
    for kind, rules in kinds.items():
        yield Live(f"C, {kind}", _run_built("service", kind), frozenset(rules))
        yield Live(f"C, {kind}, well", _run_built("service", kind, "well"))

    shrinking = ("-XX:+UseSerialGC", "-Xms16m", "-Xmx256m", "-XX:MinHeapFreeRatio=5", "-XX:MaxHeapFreeRatio=10")
    steady = ("-XX:+UseSerialGC", "-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch")
    returned, buffers = frozenset({"returned-memory"}), frozenset({"temporary-buffers"})
    yield Live("Java, shrinking heap", _run_named("java", *shrinking, "-cp", "{folder}", "Service"), returned)
    yield Live("Java, well", _run_named("java", *steady, "-cp", "{folder}", "Service"))
    yield Live("Node, new buffers", _run_named("node", "{folder}/service.js"), buffers | returned)
    yield Live("Node, well", _run_named("node", "{folder}/service.js", "well"))
    yield Live("Python, copies", _run_named("python3", "{folder}/service.py"), buffers)
    yield Live("Python, well", _run_named("python3", "{folder}/service.py", "well"))
    yield Live("Python, prefork", _run_named("python3", "{folder}/prefork.py"), frozenset({"copies-after-fork"}))
    yield Live("Python, prefork, well", _run_named("python3", "{folder}/prefork.py", "well"))
    yield Live("Go, FreeOSMemory", _run_built("service-go"), returned)
    yield Live("Go, well", _run_built("service-go", "well"))
    yield Live("Rust, new vectors", _run_built("service-rust"), buffers)
    yield Live("Rust, well", _run_built("service-rust", "well"))

    yield Live("copy_server, mapped", _run_loaded("copy_server", "mapped", load="1 500 0"), buffers)
    yield Live("copy_server, kept", _run_loaded("copy_server", "kept", load="1 500 0"))
    yield Live("scan_server, mmap", _run_loaded("scan_server", ".", "mmap", load="8 40 0"), _CONTENDED)
    yield Live("match_server, filled", _run_loaded("match_server", "startup", load="8 3 0"))
    yield Live("redis, saving", _run_saving_redis, frozenset({"copies-after-fork"}))
    yield Live("redis, well", _run_redis)
    yield Live("redis, purging", _run_purging_redis, returned)
    yield Live("PostgreSQL under pgbench, well", _run_postgresql)
    yield Live("memcached, well", _run_memcached)
    yield Live("nginx, well", _run_nginx)


def _run_built(name: str, *words: str) -> Start:
    """Return how a program of the build folder is started."""
    return _run_named(f"{{folder}}/{name}", *words)


def _run_named(*words: str) -> Start:
    """Return how a program is started; ``{folder}`` in its words is where the programs were built."""

    @contextmanager
    def start(own: Path) -> Iterator[int]:
        places = [word.replace("{folder}", str(own.parent)) for word in words]
        with run(places, frozenset(os.sched_getaffinity(0)), own) as pid:
            time.sleep(STARTED_SECONDS)
            yield pid

    return start


def _run_loaded(server: str, *words: str, load: str) -> Start:
    """Return how a bundled server is started, and loaded all the time."""

    @contextmanager
    def start(own: Path) -> Iterator[int]:
        built, socket = own.parent / server, own / "socket"
        server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
        with ExitStack() as stack:
            pid = stack.enter_context(run([str(built / server), str(socket), *words], server_cpus, own))
            time.sleep(1)
            loading = f"while :; do {built}/load {socket} {load} || sleep 0.1; done"
            stack.enter_context(run(["sh", "-c", loading], load_cpus, own))
            time.sleep(STARTED_SECONDS)
            yield pid

    return start


@contextmanager
def _load_redis(own: Path, *options: str, conf: str = "", keys: int = 100_000) -> Iterator[int]:
    """Run redis with some options under a load of new values."""
    server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    words = ["redis-server", "--port", str(PORT), "--dir", str(own), *options]
    with ExitStack() as stack:
        pid = stack.enter_context(run([*(["env", f"MALLOC_CONF={conf}"] if conf else []), *words], server_cpus, own))
        time.sleep(1)
        load = ["redis-benchmark", "-p", str(PORT), "-n", "100000000", "-c", "8", "-r", str(keys), "-d", "2048"]
        stack.enter_context(run([*load, "-t", "set", "-q"], load_cpus, own))
        time.sleep(10)  # Until each key has its value.
        yield pid


def _run_redis(own: Path) -> AbstractContextManager[int]:
    return _load_redis(own, "--save", "")


def _run_saving_redis(own: Path) -> AbstractContextManager[int]:
    return _load_redis(own, "--save", "1 1")


@contextmanager
def _run_purging_redis(own: Path) -> Iterator[int]:
    """Run a redis that fills and empties itself, with an allocator that returns memory at once."""
    server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    conf = "MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0"
    words = ["env", conf, "redis-server", "--port", str(PORT), "--dir", str(own), "--save", ""]
    words += ["--enable-debug-command", "yes"]
    with ExitStack() as stack:
        pid = stack.enter_context(run(words, server_cpus, own))
        time.sleep(1)
        client = f"redis-cli -p {PORT}"
        loading = f"while {client} debug populate 20000 key 2000 && {client} flushall sync; do :; done"
        stack.enter_context(run(["sh", "-c", loading], load_cpus, own))
        time.sleep(STARTED_SECONDS)
        yield pid


@contextmanager
def _run_postgresql(own: Path) -> Iterator[int]:
    with run_postgresql(own) as (pid, _count):
        time.sleep(5)
        yield pid


@contextmanager
def _run_memcached(own: Path) -> Iterator[int]:
    """Run memcached under a load of sets and gets."""
    server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    with ExitStack() as stack:
        pid = stack.enter_context(run(["memcached", "-u", "nobody", "-p", str(PORT), "-m", "64"], server_cpus, own))
        time.sleep(1)
        loading = f"while memcslap -s 127.0.0.1:{PORT} --concurrency=4 --execute-number=2000; do :; done"
        stack.enter_context(run(["sh", "-c", loading], load_cpus, own))
        time.sleep(5)
        yield pid


@contextmanager
def _run_nginx(own: Path) -> Iterator[int]:
    """Run nginx under wrk."""
    (own / "index.html").write_text("page " * 2000)
    (own / "nginx.conf").write_text(
        f"daemon off; pid {own}/pid; error_log /dev/null; worker_processes 1; user root;\n"
        f"events {{}} http {{ access_log off; server {{ listen 127.0.0.1:{PORT}; root {own}; }} }}\n"
    )
    server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    with ExitStack() as stack:
        pid = stack.enter_context(run(["nginx", "-c", str(own / "nginx.conf")], server_cpus, own))
        time.sleep(1)
        load = ["wrk", "-t", "1", "-c", "16", "-d", "300s", f"http://127.0.0.1:{PORT}/index.html"]
        stack.enter_context(run(load, load_cpus, own))
        time.sleep(STARTED_SECONDS)
        yield pid


if __name__ == "__main__":
    main()
