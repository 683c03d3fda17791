"""The sandbox does not move a count: the canary and the workloads, interleaved with and without it.

``python -m bench.sandbox [--full] [WORKLOAD …]``, run as ``make bench-sandbox``. Each program is built once and
prepared as ``faultwatch compare`` does it; is executed ten times on each side, with ``--full`` a hundred.

A program that counts differently by itself, because its threads race, must have the same most frequent count. An
execution with major faults is repeated: a host may page files out by itself, as DAMON's pageout scheme does.
"""

import itertools
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import structs

from bench.report import finish_report, is_full, show_steps
from runner.canary import count as canary
from runner.contract.report import Case, Environment, Host, Revision
from runner.errors import FaultwatchError
from runner.execution.compilation import compile_program
from runner.execution.sandbox import Sandbox, create_sandbox
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.perf_stat import count_faults
from runner.process_state.process_state import ProcessState
from runner.process_state.scheduling import raise_priority
from runner.workload import Workload, load_workload
from runner.workload.parameter_matrix import list_cases

ROOT = Path(__file__).resolve().parents[1]
RUNS = 100
CHOSEN: dict[str, tuple[str, ...]] = {
    "cold_start": ("page_cache=host", "program=Os"),
    "copy_service": (),
    "fortran_init": ("storage=once",),
    "gallery_search": ("memory=vector", "fill=startup"),
    "image_filter": ("temporaries=malloc",),
    "matrix_scan": (),
    "python_buffers": (),
    "tensor_copy": ("allocator=glibc", "buffer=mapped"),
}
REVISION = Revision(commit="0" * 40, committed_at=datetime(2025, 1, 1, tzinfo=UTC))
TRIES = 10
Counts = Callable[[], tuple[int, int]]
"""Executes a program; returns its minor and its major faults."""


def build_trials(folder: Path, name: str, box: Sandbox) -> tuple[Trial, Trial]:
    """Build a workload, and return the trials of one case without and with the sandbox."""
    workload, tree = load_workload(ROOT / "workloads" / name), folder / name / "tree"
    if workload.build.directory == "workload":
        shutil.copytree(ROOT / "workloads" / name, tree)
    else:
        script = ROOT / "workloads" / name / "make_history.py"
        subprocess.run([sys.executable, script, tree], check=True, capture_output=True)
    subprocess.run(list(workload.build.command or ()), cwd=tree, check=True, capture_output=True)
    box.change_owner(tree)
    case = list_cases(workload, CHOSEN[name])[0]
    return _make_trial(workload, case, tree, None), _make_trial(workload, case, tree, box)


def _make_trial(workload: Workload, case: Case, tree: Path, box: Sandbox | None) -> Trial:
    bench = Bench(Host(name="bench"), lambda _: Environment(settings={}), sandbox=box)
    return Trial(workload, Subject("bench", REVISION, case), bench, tree)


def list_sides(folder: Path, names: Sequence[str], box: Sandbox) -> Iterator[tuple[str, Counts, Counts]]:
    """Yield each program with the functions that count it without and with the sandbox."""
    source = Path(canary.__file__).with_name("canary.c")
    program = compile_program(source, folder / "canary", headers=[source.with_name("faultwatch_region.h")])
    box.change_owner(program.parent)

    def count_canary(within: Sandbox | None) -> tuple[int, int]:
        command = [f"./{program.name}", *canary.FAULT_KINDS[:3]]
        state = ProcessState(huge_pages="never")
        result = count_faults(command, directory=program.parent, state=state, timeout=60, region=True, sandbox=within)
        return _read_faults(result.sample.readings)

    if not names or "canary" in names:
        yield "canary", lambda: count_canary(None), lambda: count_canary(box)
    for name in names or CHOSEN:
        if name == "canary":
            continue
        try:
            without, within = build_trials(folder, name, box)
        except (subprocess.CalledProcessError, FaultwatchError) as error:
            print(f"  {name} cannot be measured here: {error}", flush=True)
            continue
        for trial in (without, within):
            trial.warm_up()
        yield name, _make_counter(without), _make_counter(within)


def _make_counter(trial: Trial) -> Counts:
    return lambda: _read_faults(trial.execute().readings)


def _count_in_memory(counts: Counts) -> int:
    """Return the count of the first execution without major faults, or of the last one tried."""
    for _ in range(TRIES):
        minor, major = counts()
        if not major:
            break
    return minor


def _read_faults(readings: Any) -> tuple[int, int]:
    """Return the minor faults, of the region if there is one, and the major ones of the whole execution."""
    reading = readings.get("region:minor-faults") or readings["minor-faults"]
    return int(reading.value), int(readings["major-faults"].value or 0)


def main(arguments: Sequence[str]) -> None:
    """Count the programs named, or all."""
    runs = RUNS if is_full() else RUNS // 10
    names = [word for word in arguments if not word.startswith("-")]
    figures: dict[str, Any] = {}
    misses: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as scratch, raise_priority():
        Path(scratch).chmod(0o755)
        # An interpreter outside of /usr must be readable, as FAULTWATCH_SANDBOX_READ makes it.
        box = (
            create_sandbox()
            if sys.base_prefix.startswith("/usr")
            else structs.replace(create_sandbox(), readable_folders=(sys.base_prefix,))
        )
        for name, *both in list_sides(Path(scratch), names, box):
            found: list[list[int]] = [[], []]
            turns = itertools.islice(itertools.cycle((0, 1, 1, 0)), 2 * runs)
            for turn in show_steps(turns, f"executions of {name}", 2 * runs):
                found[turn].append(_count_in_memory(both[turn]))
            without, within = (Counter(counts) for counts in found)
            same = sum((without & within).values())
            holds = same == runs or (len(without) > 1 and without.most_common(1)[0][0] == within.most_common(1)[0][0])
            text = f"{name}: executions of {runs} that count the same in the sandbox"
            print(f"  {'holds' if holds else 'FAILS'}  {text}: {same}", flush=True)
            figures[text] = same
            if same != runs:
                figures[f"{name}: counts without and with"] = [without.most_common(4), within.most_common(4)]
                print(f"         {without.most_common(4)} without, {within.most_common(4)} with", flush=True)
            if not holds:
                misses.append(f"{text}: {same}")
    finish_report("sandbox", misses, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
