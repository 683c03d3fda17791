"""How sharply a server's faults can be counted, beside its throughput and latency: ten starts of redis.

``python -m bench.servers [--full]``, run as ``make bench-servers``; needs ``redis-server``. Each start is filled with
20,000 keys and loaded in three windows of 50,000 requests. The load of each window runs under a ``perf stat -p`` of the
bench, so the same window is counted twice. That takes ten minutes. ``make bench-servers-full`` then does everything
again beside programs that keep all processors busy; ``python -m bench.servers busy`` does this part alone.

What redis and its allocator do by the clock is switched off: on a busy machine a window takes several times as long, so
more of that would happen within it.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.report import finish_report, is_full, list_words, show_steps
from runner.contract.report import Case, Window
from runner.perf.perf_binary import get_perf_program
from runner.process_state.process_state import ProcessState
from runner.servers.server_execution import ServerOrder, start_server
from runner.servers.server_processors import split_processors
from runner.workload import Workload, load_workload

STARTS = 10
MAX_WINDOW_SPREAD, MAX_SUM_SPREAD = 2.0, 0.7
"""Percent: the largest value minus the smallest over the mean."""
MAX_MISCOUNT = 0.1
"""Percent of the faults that a perf stat of the same window may count otherwise."""
SECONDS_OF_OTHER_WORK = 3600
"""After which the programs that keep the processors busy end by themselves."""

WORKLOAD = '''
[workload]
name = "redis"
timeout = 600

[server]
command = """env MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1 redis-server --port {port} --save '' --dir {data} \\
    --activerehashing no --hz 1 --pidfile {data}/pid --daemonize no"""

[load]
fill = "python3 load.py {port} 20000 1"
command = "sh load.sh {port} {data}"
output = "redis-benchmark"
operations = 50000
windows = 3
warm_up = 0
'''
COUNTED_LOAD = """
seed=$((2 + $(cat "$2/counted" 2>/dev/null | wc -l)))
exec {perf} stat -x ';' -e minor-faults,major-faults -o "$2/counted" --append -p "$(cat "$2/pid")" -- \\
    python3 load.py "$1" 50000 $seed
"""
LOAD = """
import random
import socket
import statistics
import sys
import time

port, requests, seed = map(int, sys.argv[1:])
draw = random.Random(seed)
times = []
with socket.create_connection(("127.0.0.1", port)) as server:
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    began = time.perf_counter()
    for _ in range(requests):
        key = b"key:%012d" % draw.randrange(100_000)
        sent = time.perf_counter()
        server.sendall(b"*3\\r\\n$3\\r\\nSET\\r\\n$16\\r\\n" + key + b"\\r\\n$512\\r\\n" + b"x" * 512 + b"\\r\\n")
        assert server.recv(100) == b"+OK\\r\\n"
        times.append(time.perf_counter() - sent)
    rate = requests / (time.perf_counter() - began)
print('"test","rps","p99_latency_ms"')
print(f'"SET","{rate:.2f}","{1000 * statistics.quantiles(times, n=100)[98]:.3f}"')
"""
"""Draws the same keys in each start, and prints the table of redis-benchmark.

redis-benchmark 7.0 takes the time XOR its process id as its seed: in two of ten starts two executions in a row drew the
same keys, so the second one set a third fewer new ones.
"""


def main() -> None:
    """Start redis again and again, on the machine as it is and perhaps on a busy one."""
    figures: dict[str, object] = {}
    misses: list[str] = []
    for label in list_words() or (("as it is", "busy") if is_full() else ("as it is",)):
        with keep_busy() if label == "busy" else leave_quiet():
            starts, counted_by_hand = measure_starts(label)
        print(f"\nmachine {label}: spread of {STARTS} starts in percent")
        print(f"{'':<12}{'faults':>10}{'mean':>10}{'requests/s':>12}{'p99':>8}")
        rows = [(f"window {number + 1}", [windows[number] for windows in starts]) for number in range(3)]
        for name, windows in rows:
            faults = compute_spread([get_faults(window) for window in windows])
            rates, latencies = (
                compute_spread([get(window, metric) for window in windows]) for metric in ("throughput", "latency-p99")
            )
            mean = sum(get_faults(window) for window in windows) / STARTS
            print(f"{name:<12}{faults:>10.2f}{mean:>10,.0f}{rates:>12.0f}{latencies:>8.0f}")
            figures[f"{label}, {name}"] = {"faults": faults, "throughput": rates, "p99": latencies}
            if faults > MAX_WINDOW_SPREAD:
                misses.append(f"{label}, {name}: faults spread by {faults:.2f} %, {MAX_WINDOW_SPREAD} wanted")
        total = compute_spread([sum(get_faults(window) for window in windows) for windows in starts])
        print(f"{'sum':<12}{total:>10.2f}")
        figures[f"{label}, sum"] = total
        if total > MAX_SUM_SPREAD:
            misses.append(f"{label}: the sums spread by {total:.2f} %, {MAX_SUM_SPREAD} wanted")
        miscount = max(
            100 * abs(own - by_hand) / by_hand
            for windows, hand in zip(starts, counted_by_hand, strict=True)
            for own, by_hand in zip(map(get_faults, windows), hand, strict=True)
        )
        print(f"largest difference from perf stat over the same window: {miscount:.3f} %")
        figures[f"{label}, miscount"] = miscount
        if miscount > MAX_MISCOUNT:
            misses.append(f"{label}: a window differs from perf stat by {miscount:.3f} %, {MAX_MISCOUNT} wanted")
    finish_report("servers", misses, figures)


def measure_starts(label: str) -> tuple[list[tuple[Window, ...]], list[list[int]]]:
    """Return the windows of each start, and the faults that the perf of the load counted in them."""
    starts, by_hand = [], []
    with tempfile.TemporaryDirectory(prefix="bench-servers-") as folder:
        file = Path(folder, "workload.toml")
        file.write_text(WORKLOAD)
        tree = Path(folder, "tree")
        tree.mkdir()
        (tree / "load.sh").write_text(COUNTED_LOAD.format(perf=get_perf_program()))
        (tree / "load.py").write_text(LOAD)
        workload = load_workload(file)
        for _ in show_steps(range(STARTS), f"starts, machine {label}"):
            windows, counted = run_start(workload, tree)
            starts.append(windows)
            by_hand.append(counted)
    return starts, by_hand


def run_start(workload: Workload, tree: Path) -> tuple[tuple[Window, ...], list[int]]:
    """Start redis once; return its windows, and what perf stat counted in each."""
    cpus, load_cpus = split_processors(frozenset(os.sched_getaffinity(0)))
    state = ProcessState(huge_pages="never", cpus=cpus)
    case = Case(workload=workload.name, definition="0" * 16)
    with start_server(ServerOrder(workload, case, tree, state, load_cpus)) as server:
        server.prepare()
        while not server.is_finished:
            server.run_window()
        text = (tree / "faultwatch-data" / "counted").read_text()
        sample = server.stop()
    counts = [int(line.split(";")[0]) for line in text.splitlines() if "-faults" in line]
    return sample.windows, [minor + major for minor, major in zip(counts[::2], counts[1::2], strict=True)]


def get(window: Window, name: str) -> float:
    """Return a value of a window."""
    value = window.readings[name].value
    assert value is not None
    return value


def get_faults(window: Window) -> float:
    """Return the faults of a window."""
    return get(window, "minor-faults") + get(window, "major-faults")


def compute_spread(values: Sequence[float]) -> float:
    """Return the largest value minus the smallest over the mean, in percent."""
    return 100 * (max(values) - min(values)) * len(values) / sum(values)


@contextmanager
def leave_quiet() -> Iterator[None]:
    """Leave the machine as it is."""
    yield


@contextmanager
def keep_busy() -> Iterator[None]:
    """Keep all processors busy with a program each, which ends by itself."""
    script = f"import time\nend = time.time() + {SECONDS_OF_OTHER_WORK}\nwhile time.time() < end: bytearray(1 << 20)"
    others = [subprocess.Popen([sys.executable, "-c", script]) for _ in os.sched_getaffinity(0)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


if __name__ == "__main__":
    main()
