"""What it costs to watch which questions a program and a build ask about files.

``python -m bench.watch``, run as ``make bench-watch``. The six programs of ``identical_programs`` are executed watched
and not watched in turn, as before the samples of a case, and so are two of their builds, and a program that asks about
20,000 files. The watch may cost one execution twice its time at most, and nothing may be left of it in a sample.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bench.identical_bytes import PROGRAMS, SOURCES, Program
from bench.report import finish_report, show_steps
from runner.dependencies.lookup_tracing import LookupTracer
from runner.execution.execute import execute
from runner.perf.attached_recorder import Recording
from runner.perf.faults_by_file import FaultsByFileRecorder
from runner.perf.perf_stat import count_processes
from runner.process_state.process_state import ProcessState
from runner.process_state.scheduling import raise_priority

PAIRS = 15
MOST = 2.0
"""The largest ratio of the times."""
ASKS = Program("cc -O2 -o program asks.c", ("./program",), "cc")
_ASKS = """#include <sys/stat.h>
#include <stdio.h>
int main(void) {
    struct stat state;
    for (int i = 0; i < 300; i++) { char name[20]; sprintf(name, "file-%d", i); stat(name, &state); }
    return 0;
}
"""


def compute_ratios(plain: Callable[[], object], watched: Callable[[], object]) -> tuple[float, float]:
    """Return the median seconds without, and the median of the ratios of pairs."""
    seconds, ratios = [], []
    plain()
    for _ in range(PAIRS):
        times = []
        for work in (plain, watched):
            started_at = time.monotonic()
            work()
            times.append(time.monotonic() - started_at)
        seconds.append(times[0])
        ratios.append(times[1] / times[0])
    return statistics.median(seconds), statistics.median(ratios)


def execute_watched(program: Program, tree: Path, *, watched: bool) -> tuple[int | None, str]:
    """Execute a program as before the samples; return its faults, and why it could not be followed."""
    state = ProcessState(variables=dict(program.environment), huge_pages="never", cpus=program.cpus)
    recorder = FaultsByFileRecorder()
    with raise_priority(), LookupTracer(is_launched=True, is_counted=True) if watched else nullcontext() as tracer:
        recording = Recording((), (recorder,), tracer)
        count_processes(program.command, directory=tree, state=state, timeout=60, recording=recording)
        faults = recorder.get_result()
        return faults.total if faults else None, tracer.read_lookups().untraced_reason if tracer else ""


def execute_sample(program: Program, tree: Path) -> int:
    """Execute a program as for a sample; return its faults."""
    state = ProcessState(variables=dict(program.environment), huge_pages="never", cpus=program.cpus)
    with raise_priority():
        burst = count_processes(program.command, directory=tree, state=state, timeout=60)
    readings = burst.executions[0].sample.readings
    return sum(int(readings[name].value or 0) for name in ("minor-faults", "major-faults"))


def run_build(script: str, tree: Path, *, watched: bool) -> None:
    """Build, watched or not."""
    with LookupTracer(is_launched=False, is_counted=False) if watched else nullcontext() as tracer:
        words: Sequence[str] = ["sh", "-ec", script]
        result = execute(
            tracer.wrap_command(words) if tracer else words,
            directory=tree,
            environment={"PATH": "/usr/local/bin:/usr/bin:/bin:" + str(Path.home() / ".cargo/bin")},
            timeout=600,
            inherited_descriptors=tracer.inherited_descriptors if tracer else (),
        )
    if result.problem:
        sys.exit(f"`{script}` {result.problem}: {result.output}{result.error}")


def main() -> None:
    """Measure each program and build."""
    misses: list[str] = []
    figures: dict[str, Any] = {}
    print(f"{'what':24} {'seconds':>8} {'ratio':>6}  faults watched, in a sample")
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        for name, program in show_steps({**PROGRAMS, "300 questions": ASKS}.items(), "programs"):
            if shutil.which(program.needs) is None:
                misses.append(f"{name}: {program.needs} is not installed")
                continue
            tree = Path(folder, name)
            shutil.copytree(SOURCES, tree)
            (tree / "asks.c").write_text(_ASKS)
            subprocess.run(["sh", "-ec", program.build], cwd=tree, check=True, capture_output=True)
            for _ in range(2):
                total, untraced = execute_watched(program, tree, watched=True)
            counted = execute_sample(program, tree)
            seconds, ratio = compute_ratios(
                lambda tree=tree, program=program: execute_watched(program, tree, watched=False),
                lambda tree=tree, program=program: execute_watched(program, tree, watched=True),
            )
            print(f"{name:24} {seconds:8.3f} {ratio:6.2f}  {total}, {counted}", flush=True)
            figures[name] = {"seconds": round(seconds, 4), "ratio": round(ratio, 3), "faults": [total, counted]}
            if untraced:
                misses.append(f"{name} is not traced: {untraced}")
            if ratio > MOST:
                misses.append(f"{name}: watched, it takes {ratio:.2f} × the time")
            # Go's runtime starts threads at any time, so one execution in four counts more.
            if total != counted and name != "Go":
                misses.append(f"{name}: {total} faults watched, {counted} in a sample")
        for name in ("C++", "Fortran"):
            script = PROGRAMS[name].build
            tree = Path(folder, name)
            seconds, ratio = compute_ratios(
                lambda tree=tree, script=script: run_build(script, tree, watched=False),
                lambda tree=tree, script=script: run_build(script, tree, watched=True),
            )
            print(f"{f'build of {name}':24} {seconds:8.3f} {ratio:6.2f}", flush=True)
            figures[f"build of {name}"] = {"seconds": round(seconds, 4), "ratio": round(ratio, 3)}
            if ratio > MOST:
                misses.append(f"the build of {name}, watched, takes {ratio:.2f} × the time")
    finish_report("watch", misses, figures)


if __name__ == "__main__":
    main()
