"""What ``faultwatch attach`` costs the server that it observes, and how soon it speaks.

``python -m bench.attached [--full] [PAIRS]``, run as ``make bench-attached``; needs redis and PostgreSQL with pgbench.
A server is loaded all the time. Periods with and without an observation alternate, A B B A, and the server's own
counter says what it has done in each. PostgreSQL, which pays more, takes nine minutes. ``make bench-attached-full``
observes redis too.
"""

import os
import selectors
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.report import finish_report, is_full, list_words, show_steps
from runner.servers.server_processors import split_processors

PAIRS = 10
PERIOD_SECONDS = 30
"""The default of ``--for``."""
MIN_THROUGHPUT = 0.98
"""Of a server while it is observed, as the median of all pairs, relative to the period without."""
MAX_FIRST_LINE_SECONDS = 2.0
PORT = 21_987
SECONDS_OF_LIFE = 3600
"""After which each server and each load ends by itself."""

Count = Callable[[], float]
"""Returns how many operations a server has done so far."""


def main() -> None:
    """Observe PostgreSQL, and perhaps redis."""
    words = list_words()
    pairs = int(words[0]) if words else PAIRS
    servers = {"PostgreSQL": run_postgresql} | ({"redis": run_redis} if is_full() else {})
    figures: dict[str, object] = {}
    misses = []
    for name, run_server in servers.items():
        with tempfile.TemporaryDirectory(prefix="bench-attached-") as folder, run_server(Path(folder)) as (pid, count):
            time.sleep(2)
            ratios, first_lines = measure_pairs(pid, count, pairs, Path(folder), name)
        throughput, slowest = statistics.median(ratios), max(first_lines)
        quartiles = statistics.quantiles(ratios, n=4)
        print(
            f"{name:<12} throughput {throughput:.3f} (middle half {quartiles[0]:.3f} – {quartiles[2]:.3f}), "
            f"first line after at most {slowest:.2f} s"
        )
        figures[name] = {"throughput": throughput, "quartiles": quartiles, "first_line": slowest}
        if throughput < MIN_THROUGHPUT:
            misses.append(f"{name}: throughput {throughput:.3f}, {MIN_THROUGHPUT} wanted")
        if slowest > MAX_FIRST_LINE_SECONDS:
            misses.append(f"{name}: the first line came after {slowest:.2f} s, {MAX_FIRST_LINE_SECONDS} s wanted")
    finish_report("attached", misses, figures)


def measure_pairs(pid: int, count: Count, pairs: int, home: Path, name: str) -> tuple[list[float], list[float]]:
    """Return the throughput with an observation relative to that without, and the seconds until its first line."""
    ratios, first_lines = [], []
    for number in show_steps(range(pairs), f"pairs, {name}"):
        rates = {}
        for is_observed in ((True, False), (False, True))[number % 2]:
            before, started_at = count(), time.monotonic()
            if is_observed:
                first_lines.append(observe(pid, home))
            else:
                time.sleep(PERIOD_SECONDS)
            rates[is_observed] = (count() - before) / (time.monotonic() - started_at)
        ratios.append(rates[True] / rates[False])
    return ratios, first_lines


def observe(pid: int, home: Path) -> float:
    """Observe a process for a period; return the seconds until the first line."""
    words = [sys.executable, "-m", "faultwatch", "attach", str(pid), "--for", f"{PERIOD_SECONDS}s"]
    started_at = time.monotonic()
    environment = {**os.environ, "FAULTWATCH_HOME": str(home / "home")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment) as observing:
        assert observing.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(observing.stdout, selectors.EVENT_READ)
            selector.select(30)
        first_line = time.monotonic() - started_at
        observing.communicate(timeout=300)
    if observing.returncode:
        raise SystemExit(f"attach failed with {observing.returncode}")
    return first_line


@contextmanager
def run_redis(folder: Path) -> Iterator[tuple[int, Count]]:
    """Run redis under a load that stores new values."""
    server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    with ExitStack() as stack:
        server = stack.enter_context(
            run(["redis-server", "--port", str(PORT), "--save", "", "--dir", str(folder)], server_cpus)
        )
        time.sleep(1)
        load = ["redis-benchmark", "-p", str(PORT), "-l", "-n", "1000000", "-c", "1", "-r", "100000", "-d", "512"]
        stack.enter_context(run([*load, "-t", "set", "-q"], load_cpus))

        def count() -> float:
            words = ["redis-cli", "-p", str(PORT), "info", "stats"]
            stats = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            return float(next(line for line in stats.splitlines() if "total_commands_processed" in line).split(":")[1])

        yield server, count


@contextmanager
def run_postgresql(folder: Path) -> Iterator[tuple[int, Count]]:
    """Run PostgreSQL under pgbench."""
    server_cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    shutil.chown(folder, "postgres")
    own = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
    subprocess.run(
        [*own, str(programs / "initdb"), "-D", str(folder / "db"), "-A", "trust", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    settings = (
        f"port={PORT}",
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=off",
        # Give each period the same background work: many vacuums, and no checkpoint.
        "autovacuum_naptime=5s",
        f"checkpoint_timeout={SECONDS_OF_LIFE}s",
        "max_wal_size=16GB",
    )
    options = [word for setting in settings for word in ("-c", setting)]
    client = ["-h", "127.0.0.1", "-p", str(PORT), "-U", "postgres"]
    with ExitStack() as stack:
        server = stack.enter_context(
            run([*own, str(programs / "postgres"), "-D", str(folder / "db"), *options], server_cpus)
        )
        time.sleep(3)
        subprocess.run(["pgbench", "-i", "-q", "-s", "2", *client, "postgres"], check=True, capture_output=True)
        load = ["pgbench", "-n", "-c", "1", "-T", str(SECONDS_OF_LIFE), "-b", "tpcb-like", *client, "postgres"]
        stack.enter_context(run(load, load_cpus))

        def count() -> float:
            # Not pg_stat_database, which shows a transaction only a second later, or more.
            query = "select pg_current_xact_id()"
            words = ["psql", *client, "-tAc", query, "postgres"]
            return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

        yield server, count


@contextmanager
def run(words: list[str], cpus: frozenset[int], folder: Path | None = None) -> Iterator[int]:
    """Run a program on some processors, in a folder, until the context ends; yield its process id."""
    limited = ["timeout", "--foreground", str(SECONDS_OF_LIFE), "taskset", "-c", ",".join(map(str, sorted(cpus)))]
    process = subprocess.Popen([*limited, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    main()
