"""Theory against measurement: whether the shipped workloads count what they must.

Run as ``make bench-physics``. Builds each workload, runs its cases under the runner's own measuring and prints what
theory demands beside what was counted. Claims are about counts and ratios, never about absolute times. A case that
cannot run here is skipped and says why. The last line is one JSON object; the exit status is 1 where a claim fails.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.report import finish_report, show_steps
from runner.errors import FaultwatchError
from runner.measuring.cold_files import EvictionError, make_files_cold
from runner.perf.perf_stat import Execution, count_processes
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.huge_pages import HugePageChoice, HugePagePolicy, HugePages
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.process_attribute import can_apply
from runner.process_state.process_state import ProcessState
from runner.workload.allocators import ALLOCATOR_VARIABLES, find_missing_library

WORKLOADS = Path(__file__).parents[1] / "workloads"
SAMPLES = 3
PER_THREAD = 2
"""Faults more or less that each thread of a threaded case is granted."""


@dataclass(frozen=True)
class Run:
    """One process: its faults, its CPU seconds, and the object that the program printed."""

    minor: int
    major: int
    cpu_seconds: float
    sys_percent: float
    document: Mapping[str, Any]

    @property
    def throughput(self) -> float:
        """Bytes a second in the main loop."""
        return float(self.document["bytes"]) / float(self.document["seconds"])


@dataclass
class Ledger:
    """What was claimed, and what came of it."""

    figures: dict[str, Any] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def claim(self, text: str, holds: bool, figure: Any = None) -> None:
        """Print and store a claim."""
        print(f"  {'holds' if holds else 'FAILS'}  {text}" + ("" if figure is None else f": {figure}"), flush=True)
        if figure is not None:
            self.figures[text] = figure
        if not holds:
            self.misses.append(text)

    def note(self, text: str, figure: Any) -> None:
        """Print and store a figure without a claim."""
        print(f"         {text}: {figure}", flush=True)
        self.figures[text] = figure

    def skip(self, text: str, reason: str) -> None:
        """Print and store why a case did not run."""
        print(f"  skips  {text}: {reason}", flush=True)
        self.skipped.append(f"{text}: {reason}")


def execute_program(
    folder: Path,
    command: Sequence[str],
    variables: Mapping[str, str] | None = None,
    *,
    region: bool = True,
    json_output: bool = True,
) -> Run:
    """Run a program once and return what its region of interest (or all of it) counted."""
    return execute_at_once(folder, command, 1, variables=variables, region=region, json_output=json_output)[0]


def execute_at_once(
    folder: Path,
    command: Sequence[str],
    processes: int,
    *,
    variables: Mapping[str, str] | None = None,
    huge_pages: HugePageChoice = "never",
    memory_limit: int | None = None,
    region: bool = True,
    json_output: bool = True,
) -> list[Run]:
    """Run a program in some processes at once and return what each of them counted."""
    state = ProcessState(variables=variables or {}, huge_pages=huge_pages, memory_limit=memory_limit)
    done = count_processes(command, directory=folder, state=state, timeout=300, region=region, n_processes=processes)
    return [_read_run(one, "region:" if region else "", json_output) for one in done.executions]


def _read_run(done: Execution, prefix: str, json_output: bool) -> Run:
    values = {}
    for name in ("minor-faults", "major-faults", "task-clock"):
        reading = done.sample.readings[prefix + name]
        if reading.value is None:
            raise FaultwatchError(f"{name} was not counted: {reading.reason}")
        values[name] = reading.value
    # perf says "not counted" of a time that is zero.
    system, user = (done.sample.readings[name].value or 0 for name in ("sys-time", "user-time"))
    return Run(
        minor=int(values["minor-faults"]),
        major=int(values["major-faults"]),
        cpu_seconds=float(values["task-clock"]),
        sys_percent=100 * system / ((system + user) or 1),
        document=json.loads(done.output.splitlines()[-1]) if json_output else {},
    )


def take_undisturbed_samples(
    folder: Path, command: Sequence[str], variables: Mapping[str, str] | None = None
) -> list[Run]:
    """Return the samples of a case whose memory is all there: one with major faults was disturbed from outside.

    A host may page memory out by itself, as DAMON's pageout scheme does; then the case was not what it claims to be.
    """
    kept: list[Run] = []
    for _ in range(3 * SAMPLES):
        run = execute_program(folder, command, variables)
        if run.major == 0:
            kept.append(run)
        if len(kept) == SAMPLES:
            return kept
    raise FaultwatchError(f"{' '.join(command)}: major faults in nearly every run", "is memory short on this host?")


def claim_exact_count(ledger: Ledger, text: str, runs: Sequence[Run], tolerance: int = 0) -> None:
    """Claim that a case counts what its program says theory demands."""
    theory = runs[0].document["faults"]
    counted = [run.minor for run in runs]
    # One sample in three may lie off: a host that pages out memory also takes away pages of libc.
    near = sum(abs(one - theory) <= tolerance for one in counted)
    margin = f" ± {tolerance}" if tolerance else ""
    ledger.claim(f"{text}: theory {theory}{margin}", near >= len(counted) - 1, counted)


def claim_repeated_count(ledger: Ledger, text: str, runs: Sequence[Run]) -> None:
    """Claim of a case with an allocator in between: the same count each time, and no fewer than the distinct pages."""
    counted = [run.minor for run in runs]
    pages = runs[0].document["pages"]
    ledger.claim(f"{text}: repeats, at least {pages}", len(set(counted)) == 1 and counted[0] >= pages, counted)


def compute_median(runs: Sequence[Run], name: str = "throughput") -> float:
    """Return the median of one attribute over some runs."""
    return float(statistics.median(getattr(run, name) for run in runs))


def check_tensor_copy(folder: Path, ledger: Ledger) -> None:
    """Allocators: which of them keep the pages."""
    command = ("./tensor_copy", "--mib", "4", "--steps", "500", "--buffer")
    for buffer in ("mapped", "populate"):
        claim_exact_count(ledger, f"tensor_copy[{buffer}]", take_undisturbed_samples(folder, (*command, buffer)))
    claim_repeated_count(ledger, "tensor_copy[reused]", take_undisturbed_samples(folder, (*command, "reused")))
    fresh: dict[str, list[Run]] = {}
    for name, variables in ALLOCATOR_VARIABLES.items():
        case = f"tensor_copy[fresh,{name}]"
        if library := find_missing_library(name):
            ledger.skip(case, f"this host does not have {library}")
            continue
        fresh[name] = take_undisturbed_samples(folder, (*command, "fresh"), variables)
        claim_repeated_count(ledger, case, fresh[name])
        ledger.note(f"{case}: GB/s", round(compute_median(fresh[name]) / 1e9, 2))
    if "jemalloc-no-decay" in fresh:
        slow, glibc = fresh["jemalloc-no-decay"], fresh["glibc"]
        faults = slow[0].minor / glibc[0].minor
        ledger.claim("jemalloc without decay: at least 100 times glibc's faults", faults >= 100, round(faults, 1))
        speed = compute_median(slow) / compute_median(glibc)
        ledger.claim("jemalloc without decay: at most half of glibc's throughput", speed <= 0.5, round(speed, 3))
        refault = slow[0].minor / slow[0].document["pages"]
        ledger.claim("jemalloc without decay: each page faults again and again", refault >= 100, round(refault, 1))


def check_matrix_scan(folder: Path, ledger: Ledger) -> None:
    """Files: read or mapped."""
    runs: dict[tuple[str, int], list[Run]] = {}
    for threads in (1, 2, 8, 16):
        for access in ("read", "mmap", "populate"):
            scans = "640" if threads == 8 else "160"
            command = ("./matrix_scan", "--access", access, "--threads", str(threads), "--scans", scans)
            runs[access, threads] = take_undisturbed_samples(folder, command)
            tolerance = PER_THREAD * threads if threads > 1 else 0
            claim_exact_count(ledger, f"matrix_scan[{access},threads={threads}]", runs[access, threads], tolerance)
    for access in ("read", "mmap"):
        column = take_undisturbed_samples(folder, ("./matrix_scan", "--access", access, "--order", "column"))
        claim_exact_count(ledger, f"matrix_scan[{access},order=column]", column)
    faults = compute_median(runs["mmap", 8], "minor") / compute_median(runs["read", 8], "minor")
    ledger.claim("8 threads: mmap has at least 30 times the faults of read", faults >= 30, round(faults, 1))
    cost = {
        n: compute_median(runs["mmap", n], "cpu_seconds") / compute_median(runs["read", n], "cpu_seconds")
        for n in (1, 2, 8, 16)
    }
    ledger.note("CPU time of mmap over that of read, by threads", {n: round(one, 2) for n, one in cost.items()})
    speed = {n: compute_median(runs["read", n]) / compute_median(runs["mmap", n]) for n in (1, 2, 8, 16)}
    ledger.note("throughput of read over that of mmap, by threads", {n: round(one, 2) for n, one in speed.items()})
    wins = "read wins throughput as threads grow"
    if (cores := os.cpu_count() or 1) < 4:
        ledger.skip(wins, f"{cores} cores decide nothing: the ratio above varies by more than the effect")
    else:
        ledger.claim(wins, speed[16] > max(1.0, speed[1]), round(speed[16], 2))
    cold = execute_program(folder, ("./matrix_scan", "--access", "mmap", "--cache", "cold"))
    ledger.claim("a cold file costs major faults", cold.major > 0, cold.major)
    lock_waits(folder, ledger)


def lock_waits(folder: Path, ledger: Ledger) -> None:
    """Measure the time that writers wait for the mmap_lock, through the kernel's own trace points."""
    waits = {}
    for access in ("read", "mmap"):
        try:
            waits[access] = _write_waits(folder, access)
        except (subprocess.CalledProcessError, FileNotFoundError):
            ledger.skip("matrix_scan: wait for the mmap_lock", "the mmap_lock trace points need root and tracefs")
            return
    shown = {access: f"{len(one)} times, {1e3 * sum(one):.1f} ms" for access, one in waits.items()}
    ledger.claim(
        "8 threads: mmap waits for the mmap_lock at least 10 times as long as read",
        sum(waits["mmap"]) >= 10 * sum(waits["read"]),
        shown,
    )


def _write_waits(folder: Path, access: str) -> list[float]:
    events = ("mmap_lock:mmap_lock_start_locking", "mmap_lock:mmap_lock_acquire_returned")
    command = ["perf", "record", "-q", "-o", "lock.data", "-e", ",".join(events)]
    command += ["./matrix_scan", "--threads", "8", "--scans", "80", "--access", access]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    command = ["perf", "script", "-i", "lock.data", "-F", "tid,time,event,trace"]
    text = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    began: dict[str, float] = {}
    waits = []
    for line in text.splitlines():
        if "write=true" not in line:
            continue
        thread, time, event, *_ = line.split()
        moment = float(time.rstrip(":"))
        if "start_locking" in event:
            began[thread] = moment
        elif thread in began:
            waits.append(moment - began.pop(thread))
    return waits


def check_fortran_init(folder: Path, ledger: Ledger) -> None:
    """Matrices: allocated again or kept, alone or beside others, in pages or in huge pages."""
    command = ("./fortran_init", "per_step")
    claim_exact_count(ledger, "fortran_init[static]", take_undisturbed_samples(folder, ("./fortran_init", "static")))
    claim_repeated_count(ledger, "fortran_init[once]", take_undisturbed_samples(folder, ("./fortran_init", "once")))
    alone = take_undisturbed_samples(folder, command)
    claim_repeated_count(ledger, "fortran_init[per_step]", alone)
    ledger.note("fortran_init[per_step]: sys %", round(compute_median(alone, "sys_percent")))
    check_weak_scaling(folder, command, alone, ledger)
    for policy in ("madvise", "always"):
        check_huge_pages(folder, policy, alone[0].minor, ledger)


def check_weak_scaling(folder: Path, command: Sequence[str], alone: Sequence[Run], ledger: Ledger) -> None:
    """Run several processes at once: the same count in each, at whatever speed."""
    seconds = statistics.median(float(run.document["seconds"]) for run in alone)
    for processes in (2, 4):
        bursts = [execute_at_once(folder, command, processes) for _ in range(SAMPLES)]
        counted = [run.minor for runs in bursts for run in runs]
        text = f"each of {processes} processes at once counts what one alone does, {alone[0].minor}"
        # One may lie off, as in a sample of a process alone: a page of libc that was taken away.
        ledger.claim(text, counted.count(alone[0].minor) >= len(counted) - 1, counted)
        slowest = statistics.median(max(float(run.document["seconds"]) for run in runs) for runs in bursts)
        share = statistics.median(run.sys_percent for runs in bursts for run in runs)
        ledger.note(f"weak-scaling efficiency t(1)/t({processes})", round(seconds / slowest, 2))
        ledger.note(f"sys % of {processes} processes at once", round(share))


def check_huge_pages(folder: Path, policy: HugePagePolicy, without: int, ledger: Ledger) -> None:
    """Set matrices up under a policy of huge pages, against the count without them."""
    case = f"fortran_init[per_step,huge_pages={policy}]"
    if not can_apply(HugePages(policy)):
        ledger.skip(case, HugePages(policy).remedy)
        return
    counted = [
        execute_at_once(folder, ("./fortran_init", "per_step"), 1, huge_pages=policy)[0].minor for _ in range(SAMPLES)
    ]
    if policy == "madvise":
        ledger.claim(f"{case}: as without, for nobody asks for them", counted.count(without) >= SAMPLES - 1, counted)
        return
    # A huge page is one fault for its 512 pages.
    saved = [divmod(without - one, 511) for one in counted]
    text = f"{case}: {without} less 511 for each huge page"
    ledger.claim(text, all(pages > 0 and not rest for pages, rest in saved), counted)
    ledger.note(f"{case}: huge pages", [pages for pages, _ in saved])


def check_image_filter(folder: Path, ledger: Ledger) -> None:
    """Temporaries: an image or a row."""
    command = ("./image_filter", "--width", "1920", "--height", "1080", "--images", "20", "--temporaries")
    kinds = ("malloc", "mapped", "populate", "row")
    # In turns, so that a busy moment of the host meets all of them.
    turns = [{kind: execute_program(folder, (*command, kind)) for kind in kinds} for _ in range(5)]
    runs = {kind: [turn[kind] for turn in turns] for kind in kinds}
    claim_repeated_count(ledger, "image_filter[malloc]", runs["malloc"])
    for kind in kinds[1:]:
        claim_exact_count(ledger, f"image_filter[{kind}]", runs[kind])
    for kind in ("populate", "row"):
        fewer = runs["malloc"][0].minor / runs[kind][0].minor
        ledger.claim(f"image_filter[{kind}]: at least 4 times fewer faults than malloc", fewer >= 4, round(fewer, 2))
        cost = statistics.median(turn[kind].cpu_seconds / turn["malloc"].cpu_seconds for turn in turns)
        ledger.claim(f"image_filter[{kind}]: takes no more CPU time than malloc", cost <= 1.0, round(cost, 2))


def check_cold_start(folder: Path, ledger: Ledger) -> None:
    """Starting: from storage or from memory, with much code or little."""
    warm_faults = {}
    files = {name: folder / f"cold_start_{name}" for name in ("O3", "Os", "large", "perl")}
    for name, file in files.items():
        start = partial(execute_program, folder, (f"./cold_start_{name}", "hello.pl"), region=False, json_output=False)
        try:
            cold = []
            for _ in range(SAMPLES):
                make_files_cold([file])
                cold.append(start().major)
            ledger.claim(f"cold_start[{name},cold]: major faults", min(cold) > 0, cold)
        except EvictionError as error:
            ledger.skip(f"cold_start[{name},cold]", str(error))
        start()
        warm = [start() for _ in range(SAMPLES)]
        warm_faults[name] = warm[0].minor
        ledger.claim(
            f"cold_start[{name},warm]: no major fault", not any(run.major for run in warm), [run.major for run in warm]
        )
        ledger.note(f"cold_start[{name},warm]: minor faults", [run.minor for run in warm])
    ledger.claim("-Os faults less than -O3", warm_faults["Os"] < warm_faults["O3"], warm_faults)


def check_gallery_search(folder: Path, ledger: Ledger) -> None:
    """Galleries: who pays for the pages, and when."""
    kinds = ("vector", "private", "private_populate", "shared", "shared_populate")
    first: dict[str, int] = {}
    for fill, counted in (("startup", "load"), ("startup", "bursts"), ("first_search", "bursts")):
        for kind in kinds:
            command = ("./gallery_search", "--mib", "64", "--memory", kind, "--fill", fill, "--count", counted)
            runs = take_undisturbed_samples(folder, command)
            case = f"gallery_search[{kind},fill={fill},count={counted}]"
            if kind == "vector":
                claim_repeated_count(ledger, case, runs)
            else:
                claim_exact_count(ledger, case, runs, tolerance=0 if counted == "load" else PER_THREAD * 8)
            if counted == "bursts":
                first[f"{kind},{fill}"] = runs[0].minor
                latencies = {
                    key: [round(1e3 * float(run.document[key]), 1) for run in runs]
                    for key in ("first_p50", "first_p99")
                }
                ledger.note(f"{case}: latency of the first burst in ms", latencies)
    check_limited_memory(folder, ledger)
    lazy = {kind: first[f"{kind},first_search"] for kind in kinds}
    ledger.claim(
        "MAP_POPULATE takes the first burst's faults away, MAP_SHARED does not",
        max(lazy["private_populate"], lazy["shared_populate"]) <= 16 < min(lazy["private"], lazy["shared"]),
        lazy,
    )


def check_limited_memory(folder: Path, ledger: Ledger) -> None:
    """Search with just enough memory, and with searches that start one after the other: the same pages fault."""
    command = ("./gallery_search", "--mib", "64", "--memory", "private", "--fill", "first_search")
    ramped = take_undisturbed_samples(folder, (*command, "--ramp-ms", "5"))
    claim_exact_count(ledger, "gallery_search[private,fill=first_search,ramp_ms=5]", ramped, tolerance=PER_THREAD * 8)
    latencies = [round(1e3 * float(run.document["first_p99"]), 1) for run in ramped]
    ledger.note("gallery_search[private,fill=first_search,ramp_ms=5]: p99 of the first burst in ms", latencies)
    case = "gallery_search[private,fill=first_search,memory_limit=80M]"
    limit = 80 << 20
    if not can_apply(MemoryGroup(limit)):
        ledger.skip(case, MemoryGroup.remedy)
        return
    runs = [execute_at_once(folder, command, 1, memory_limit=limit)[0] for _ in range(SAMPLES)]
    claim_exact_count(ledger, case, runs, tolerance=PER_THREAD * 8)


PARTS = {
    "tensor_copy": check_tensor_copy,
    "matrix_scan": check_matrix_scan,
    "fortran_init": check_fortran_init,
    "image_filter": check_image_filter,
    "cold_start": check_cold_start,
    "gallery_search": check_gallery_search,
}


def build_workloads(names: Sequence[str], scratch: Path, ledger: Ledger) -> Iterator[tuple[str, Path]]:
    """Build workloads in copies of their folders."""
    for name in names:
        folder = scratch / name
        shutil.copytree(WORKLOADS / name, folder)
        done = subprocess.run(["make", "-s"], cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode:
            ledger.skip(name, f"does not build here: {done.stderr.strip().splitlines()[-1]}")
            continue
        ledger.claim(f"{name}: compiles without warnings", not done.stderr, done.stderr or None)
        yield name, folder


def main(names: Sequence[str]) -> None:
    """Check the named workloads, or all."""
    ledger = Ledger()
    chosen = names or list(PARTS)
    # Below the working directory: a cold page cache needs a file system on storage, which /tmp is not everywhere.
    with tempfile.TemporaryDirectory(prefix=".physics-", dir=Path.cwd()) as scratch:
        for name, folder in show_steps(build_workloads(chosen, Path(scratch), ledger), "workloads", len(chosen)):
            print(name)
            try:
                PARTS[name](folder, ledger)
            except (FaultwatchError, ExecutionFailure) as error:
                ledger.claim(f"{name}: can be measured", False, str(error))
    finish_report("physics", ledger.misses, {**ledger.figures, "skipped": ledger.skipped})


if __name__ == "__main__":
    main(sys.argv[1:])
