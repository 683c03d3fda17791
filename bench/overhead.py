"""What the measuring engine promises, on this machine as it is: exact counts, little overhead, no false alarm, no miss.

``python -m bench.overhead [--full] [PART …]``, run as ``make bench-overhead``; the parts stand at the end. Everything
is executed for real, base and head interleaved as ``faultwatch compare`` does it, and the service's own function
decides. A tenth of everything takes a quarter of an hour; all of it, with ``make bench-overhead-full``, two hours and a
half.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from bench.report import finish_report, is_full, show_steps
from runner.contract.comparison import Verdict
from runner.contract.level import find_majority
from runner.contract.report import Case, Environment, Host, Revision
from runner.execution.process_variables import pad_variables
from runner.measuring.comparison import ComparisonResult, Pairs, compare_interleaved_trials
from runner.measuring.trial import Bench, Subject, Trial
from runner.perf.counted_events import build_perf_stat_command
from runner.perf.perf_stat import count_faults
from runner.process_state.process_state import ProcessState
from runner.process_state.scheduling import raise_priority
from runner.workload import Workload
from service.rules.comparison import comparison_verdict

ROOT = Path(__file__).resolve().parents[1]
RUNS = 100
PAIRS_UNCHANGED = 1000
PAGES = (10_000, 100_000, 1_000_000)
THROUGHPUT = ("2000", "40", "103", "100")
"""Pages, operations, and copies in each operation of base and head: 3 % fewer, so about 10 ms."""
SINGLE_THREADED: dict[str, tuple[str, ...]] = {
    "tensor_copy": ("./tensor_copy", "--mib", "4", "--steps", "100", "--buffer", "mapped"),
    "image_filter": ("./image_filter",),
    "fortran_init": ("./fortran_init",),
    "cold_start": ("./cold_start_Os",),
}
STATE = ProcessState(huge_pages="never")
ONCE = 0.3
"""Seconds that a measurement may take beyond its samples."""
FACTOR = 1.05


@dataclass
class Ledger:
    """What was promised, and what came of it."""

    figures: dict[str, Any] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)

    def claim(self, text: str, holds: bool, figure: object) -> None:
        """Print and store a claim."""
        print(f"  {'holds' if holds else 'FAILS'}  {text}: {figure}", flush=True)
        self.figures[text] = figure
        if not holds:
            self.misses.append(f"{text}: {figure}")

    def note(self, text: str, figure: object) -> None:
        """Print and store a figure without a claim."""
        print(f"         {text}: {figure}", flush=True)
        self.figures[text] = figure


Faults = tuple[int, int]
"""Minor and major faults of one execution."""


def count_by_perf(command: Sequence[str], folder: Path) -> Faults:
    """Count the faults of a command by perf stat alone, with the same bytes on its stack as by the runner.

    It writes to pipes there too: the Fortran library sizes its buffers by the kind of its output, which can mean one
    more page.
    """
    output = folder / "bare.csv"
    environment = pad_variables({**STATE.environment, **list_variables_of_perf()}, command)
    environment = {name: value for name, value in environment.items() if name not in list_variables_of_perf()}
    with STATE.apply():
        subprocess.run(
            build_perf_stat_command(command, output),
            cwd=folder,
            env=environment,
            check=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
        )
    rows = [line.split(";") for line in output.read_text().splitlines() if line.count(";") > 3]
    found = {row[2].partition(":")[0]: row[0] for row in rows}
    return int(found["minor-faults"]), int(found["major-faults"])


@cache
def list_variables_of_perf() -> dict[str, str]:
    """Return the variables that perf adds to the environment of what it starts, and the runner does not."""
    command = build_perf_stat_command(["env"], Path(os.devnull))
    done = subprocess.run(command, env=STATE.environment, check=True, capture_output=True, text=True)
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    return {name: value for name, value in found.items() if name not in STATE.environment}


def count_by_runner(command: Sequence[str], folder: Path) -> Faults:
    """Count the faults of a command by the runner."""
    readings = count_faults(command, directory=folder, state=STATE, timeout=60).sample.readings
    return int(readings["minor-faults"].value or 0), int(readings["major-faults"].value or 0)


def check_counts(ledger: Ledger, folder: Path, tenth: bool) -> None:
    """Faultwatch counts what perf stat counts."""
    runs = RUNS // 10 if tenth else RUNS
    for name, place, command in build_programs(folder):
        count_by_perf(command, place)
        tried = 0
        pairs: list[tuple[int, int]] = []
        while len(pairs) < runs and tried < 2 * runs:
            tried += 1
            (one, one_major), (other, other_major) = count_by_perf(command, place), count_by_runner(command, place)
            # A host may page files out by itself, as DAMON's pageout scheme does. A fault on such a page is a major
            # one, in whichever execution comes first, and says nothing about counting.
            if not one_major and not other_major:
                pairs.append((one, other))
        level, _ = find_majority([one for pair in pairs for one in pair]) or (None, 0)
        same = sum(one == other for one, other in pairs)
        outliers = {
            "perf stat": [one for one, _ in pairs if one != level],
            "Faultwatch": [one for _, one in pairs if one != level],
        }
        text = f"{name}: runs of {runs} in which both count the same"
        ledger.claim(text, same == runs, same)
        ledger.note(f"{name}: level, and counts off it", [level, outliers])
        ledger.note(f"{name}: pairs repeated because the host had paged out a file", tried - len(pairs))


def build_programs(folder: Path) -> Iterator[tuple[str, Path, tuple[str, ...]]]:
    """Build the single-threaded programs and yield name, folder and command."""
    yield "touch", folder, ("./steady", "10000", "1", "1")
    history = folder / "copy-service"
    made = subprocess.run(
        [sys.executable, ROOT / "workloads/copy_service/make_history.py", history], check=True, capture_output=True
    )
    assert made.returncode == 0
    subprocess.run(["make", "-s", "copyserve"], cwd=history, check=True)
    yield "copy_service", history, ("./copyserve", "--mib", "8", "--operations", "25")
    for name, command in SINGLE_THREADED.items():
        shutil.copytree(ROOT / "workloads" / name, folder / name)
        built = subprocess.run(["make", "-s"], cwd=folder / name, check=False, capture_output=True)
        if built.returncode == 0:
            yield name, folder / name, command


def check_overhead(ledger: Ledger, folder: Path, tenth: bool) -> None:
    """Measuring n samples takes as long as n times perf stat, and a little once."""
    history = folder / "copy-service-timed"
    subprocess.run([sys.executable, ROOT / "workloads/copy_service/make_history.py", history], check=True)
    few, many = (4, 12) if tenth else (4, 24)
    # As where it is installed: its modules are compiled once, also where this checkout must not be written to.
    environment = os.environ | {
        "FAULTWATCH_HOME": str(folder / "home"),
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = ("./copyserve", "--mib", "8", "--operations", "25")
    subprocess.run(["make", "-s", "copyserve"], cwd=history, check=True)

    def measure_once(samples: int) -> None:
        subprocess.run(
            [
                *(sys.executable, "-m", "runner", "measure", "copy_service", "--repo", history, "--committed-only"),
                *("--samples", str(samples), "--json"),
            ],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
        )

    measure_once(1)  # builds
    rounds: list[tuple[float, float, float]] = []
    with raise_priority():
        for _ in show_steps(range(3 if tenth else 7), "rounds"):
            rounds.append(
                (
                    time_work(partial(measure_once, few)),
                    time_work(partial(measure_once, many)),
                    time_work(lambda: [count_by_perf(command, history) for _ in range(many)]) / many,
                )
            )
    each = statistics.median(one for _, _, one in rounds)
    factor = statistics.median((long - short) / (many - few) / one for short, long, one in rounds)
    once = statistics.median(long - FACTOR * many * one for _, long, one in rounds)
    ledger.note("one perf stat of copy_service, in seconds", round(each, 4))
    ledger.note("milliseconds that a sample takes beyond that", round(1000 * (factor - 1) * each, 1))
    ledger.claim("time of a further sample over that of perf stat", factor <= FACTOR, round(factor, 3))
    ledger.claim("seconds once, the warm-up among them", once <= ONCE, round(once, 3))


def check_no_change(ledger: Ledger, folder: Path, tenth: bool) -> None:
    """Nothing changed, and nothing is called changed."""
    number = PAIRS_UNCHANGED // 10 if tenth else PAIRS_UNCHANGED
    pages, operations, work, _ = THROUGHPUT
    exact: Counter[Verdict] = Counter()
    noisy = Counter[Verdict]()
    alarms: list[str] = []
    samples: list[int] = []
    started = time.monotonic()
    for _ in show_steps(range(number), "comparisons of equal commits"):
        done = compare_programs(folder, (pages, operations, work), (pages, operations, work), precise=True)
        samples.append(len(done.base.samples))
        assert done.comparison
        for one in done.comparison.metrics:
            if one.rule == "exact":
                exact[one.verdict] += 1
            elif one.counts:
                noisy[one.verdict] += 1
            if one.verdict is Verdict.CHANGED:
                alarms.append(f"{one.metric}: {one.sentence}")
        if len(samples) % 50 == 0:
            print(f"         {len(samples)} compared, {len(alarms)} called changed", flush=True)
    wrong = [alarm for alarm in alarms if not alarm.startswith(("minor-faults", "major-faults"))]
    ledger.claim(
        f"{number} comparisons without a change: exact counts changed",
        not exact[Verdict.CHANGED],
        exact[Verdict.CHANGED],
    )
    ledger.claim(f"{number} comparisons without a change: noisy metrics changed", len(wrong) <= 1, len(wrong))
    ledger.note("verdicts on exact counts", dict(exact))
    ledger.note("verdicts on throughput", dict(noisy))
    ledger.note("pairs a comparison, median and most", [statistics.median(samples), max(samples)])
    ledger.note("seconds a comparison", round((time.monotonic() - started) / number, 2))
    for alarm in alarms:
        print(f"         {alarm}")


def check_one_page(ledger: Ledger, folder: Path, tenth: bool) -> None:
    """One page more is called changed."""
    number = RUNS // 10 if tenth else RUNS
    for pages in PAGES:
        found = 0
        for _ in show_steps(range(number), "comparisons"):
            done = compare_programs(folder, (str(pages), "1", "1"), (str(pages + 1), "1", "1"))
            faults = find_verdict(done, "minor-faults")
            found += faults.verdict is Verdict.CHANGED and faults.change == 1
        ledger.claim(f"one more page in {pages:,} found, of {number}", found == number, found)


def check_throughput(ledger: Ledger, folder: Path, tenth: bool) -> None:
    """3 % more or less throughput is called changed, in the right direction."""
    number = RUNS // 10 if tenth else RUNS
    pages, operations, more, fewer = THROUGHPUT
    wrong = 0
    outcomes: Counter[Verdict] = Counter()
    samples: list[int] = []
    for turn in show_steps(range(number), "executions"):
        sides = ((pages, operations, fewer), (pages, operations, more))
        done = compare_programs(folder, *(sides if turn % 2 else sides[::-1]), precise=True)
        one = find_verdict(done, "throughput")
        outcomes[one.verdict] += 1
        wrong += one.verdict is Verdict.CHANGED and (one.direction == "regression") != bool(turn % 2)
        samples.append(len(done.base.samples))
    found = outcomes[Verdict.CHANGED] - wrong
    ledger.claim(f"3 % of throughput found, of {number}", found >= 0.95 * number, found)
    ledger.note("verdicts on 3 % of throughput", dict(outcomes))
    ledger.note("pairs that it took, median and most", [statistics.median(samples), max(samples)])


def start(ledger: Ledger, folder: Path, tenth: bool) -> None:
    """The command starts fast and needs nothing of the service's."""
    command = [sys.executable, "-m", "runner", "--help"]
    run = partial(subprocess.run, cwd=ROOT, check=True, capture_output=True)
    with raise_priority():
        times = [time_work(partial(run, command)) for _ in range(5 if tenth else 20)]
    milliseconds = round(1000 * statistics.median(times))
    ledger.claim("milliseconds until faultwatch --help is done", milliseconds <= 150, milliseconds)
    blocked = ("numpy", "flask", "apiflask", "sqlalchemy", "alembic", "gunicorn", "service")
    modules = [
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted((ROOT / "runner").rglob("*.py"))
        if file.name != "__main__.py" and file.parent.name != "__pycache__"
    ]
    script = (
        "import importlib, sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False, capture_output=True, text=True)
    said = done.stderr.strip().splitlines()[-1:] or ["all of them"]
    ledger.claim("modules of the runner import without the service's packages", done.returncode == 0, said[0])


def compare_programs(
    folder: Path, base: Sequence[str], head: Sequence[str], *, precise: bool = False
) -> ComparisonResult:
    """Compare two calls of the steady program as the command compares two revisions."""
    trials = []
    for side in (base, head):
        workload = Workload.model_validate(
            {
                "workload": {"name": "steady"},
                "run": {"command": ["./steady", *side], "output": "json", "huge_pages": "never"},
                "metrics": {"precision": {"throughput": 3.0} if precise else {}},
            }
        )
        bench = Bench(Host(name="bench"), lambda _: Environment(settings={}))
        trials.append(Trial(workload, Subject("steady", REVISION, CASE), bench, folder))
    return compare_interleaved_trials(
        *trials, comparison_verdict.decide_comparison, pairs=Pairs.from_workload(trials[0].workload)
    )


CASE = Case(workload="steady", definition="0" * 16)
"""Two calls of the program stand for two revisions of one case."""
REVISION = Revision(commit="0" * 40, committed_at=datetime(2025, 1, 1, tzinfo=UTC))


def find_verdict(done: ComparisonResult, name: str) -> Any:
    """Return the verdict about one metric."""
    assert done.comparison
    return next(one for one in done.comparison.metrics if one.metric == name)


def time_work(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


PARTS = {
    "start": start,
    "counts": check_counts,
    "time": check_overhead,
    "throughput": check_throughput,
    "one_page": check_one_page,
    "unchanged": check_no_change,
}


def main(arguments: Sequence[str]) -> None:
    """Check the parts named, or all."""
    tenth = not is_full()
    ledger = Ledger()
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as scratch:
        folder = Path(scratch)
        subprocess.run(["cc", "-O2", "-o", folder / "steady", ROOT / "bench" / "steady.c"], check=True)
        for name in show_steps([one for one in arguments if one in PARTS] or PARTS, "parts"):
            print(f"{name}: {PARTS[name].__doc__}", flush=True)
            ledger.figures[f"{name}: seconds"] = round(time_work(partial(PARTS[name], ledger, folder, tenth)), 1)
    ledger.figures["load of the host"] = [round(one, 1) for one in os.getloadavg()]
    finish_report("overhead", ledger.misses, ledger.figures)


if __name__ == "__main__":
    main(sys.argv[1:])
