"""Whether one ``faultwatch history`` proves a small change of a noisy program at its commit.

``python -m bench.proven_histories [NAME …] [--full]``, run as ``make bench-proven-histories``. The programs vary from
one execution to the next: a JVM, Node, Go, Python with random hash seeds, OpenMP, and a program of a random size. Each
gets a history of some commits of which one touches 2 % more memory, or none does. The part that runs by default has 4
commits; with ``make bench-proven-histories-full``, there are 4, 10 and 30. Pairs have to prove the change at its
commit; runs that all had the same count on each level prove it alone.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.report import finish_report, show_steps

ROOT = Path(__file__).resolve().parents[1]
PERCENT = 2
BUDGET = 600


@dataclass(frozen=True)
class Program:
    """How a noisy program is built and run; ``{pages}`` in its source says how much it touches."""

    file: str
    source: str
    build: str
    command: tuple[str, ...]
    needs: str
    pages: int = 4000


PROGRAMS = {
    "jvm": Program(
        "Touch.java",
        """
public class Touch {{
    public static void main(String[] words) {{
        java.nio.ByteBuffer memory = java.nio.ByteBuffer.allocateDirect({pages} * 4096);
        for (int page = 0; page < {pages}; page++) memory.put(page * 4096, (byte) 1);
        System.out.println(memory.capacity());
    }}
}}
""",
        "javac Touch.java",
        ("java", "-XX:MaxDirectMemorySize=1g", "-cp", ".", "Touch"),
        "javac",
        40_000,
    ),
    "node": Program(
        "touch.js",
        """
const held = [];
for (let i = 0; i < {pages} / 16; i++) held.push(Buffer.alloc(65536, 1));
console.log(held.length);
""",
        "true",
        ("node", "touch.js"),
        "node",
        20_000,
    ),
    "go": Program(
        "touch.go",
        """package main

import "fmt"

func main() {{
	seen := map[int][]byte{{}}
	for i := 0; i < {pages}/2; i++ {{
		seen[i] = make([]byte, 8192)
		seen[i][0], seen[i][4096] = 1, 1
	}}
	fmt.Println(len(seen))
}}
""",
        "go build -o touch touch.go",
        ("./touch",),
        "go",
        10_000,
    ),
    "python": Program(
        "touch.py",
        """
import os
words = {{str(i) * 3: None for i in range(30_000)}}
held = [os.urandom(4096) for _ in range({pages})]
print(len(words | {{word + "x": None for word in words}}), len(held))
""",
        "true",
        ("python3", "touch.py"),
        "python3",
    ),
    "openmp": Program(
        "touch.c",
        """
#include <stdlib.h>
#include <sys/random.h>
int main(void) {{
    unsigned chance; if (getrandom(&chance, sizeof chance, 0) != sizeof chance) return 1;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < {pages} / 8; i++) {{
        volatile char *some = malloc(32768 + 16 * (chance + i) % 4096);
        for (int page = 0; page < 8; page++) some[4096 * page] = 1;
    }}
    return 0;
}}
""",
        "cc -O0 -fopenmp -o touch touch.c",
        ("./touch",),
        "cc",
    ),
    "random-size": Program(
        "touch.c",
        """
#include <stdlib.h>
#include <sys/random.h>
int main(void) {{
    unsigned chance; if (getrandom(&chance, sizeof chance, 0) != sizeof chance) return 1;
    volatile char *memory = malloc((size_t)4096 * ({pages} + 800));
    for (unsigned page = 0; page < {pages} + chance % ({pages} / 10); page++) memory[4096ul * page] = 1;
    return 0;
}}
""",
        "cc -O0 -o touch touch.c",
        ("./touch",),
        "cc",
    ),
}


def _run_git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    completed = subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True)
    return completed.stdout.strip()


def _make_history(folder: Path, program: Program, commits: int, changed: int | None) -> list[str]:
    """Make a repository in which one commit, by its number, touches more; None for no such commit."""
    folder.mkdir(parents=True)
    _run_git(folder, "init", "--quiet", "--initial-branch=main")
    build = json.dumps(program.build)
    (folder / "workload.toml").write_text(
        f'[workload]\nname = "noisy"\n[build]\ncommand = {build}\n'
        f"[build.environment]\nPATH = {json.dumps(os.environ['PATH'])}\n"
        f"[run]\ncommand = {json.dumps(program.command)}\n"
    )
    for number in range(commits):
        more = PERCENT if changed is not None and number >= changed else 0
        text = program.source.format(pages=program.pages * (100 + more) // 100)
        (folder / program.file).write_text(f"{text}\n")
        (folder / "NEWS").write_text(f"{number}\n")
        _run_git(folder, "add", ".")
        _run_git(folder, "commit", "--quiet", "--message", f"Commit {number}")
    return _run_git(folder, "rev-list", "--reverse", "HEAD").split()


def _measure_history(folder: Path, home: Path) -> tuple[dict[str, Any], float]:
    started_at = time.monotonic()
    completed = subprocess.run(
        [sys.executable, "-m", "runner", "history", "--repo", str(folder), "--json", "--prove-for", str(BUDGET)],
        env=os.environ | {"FAULTWATCH_HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    if completed.returncode:
        sys.exit(f"{folder}: {completed.stderr[-2000:]}")
    return json.loads(completed.stdout), time.monotonic() - started_at


def _list_histories(names: list[str], *, full: bool) -> Iterator[tuple[str, int, bool]]:
    for commits in (4, 10, 30) if full else (4,):
        for name in names:
            for is_changed in (True, False):
                yield name, commits, is_changed


def main(words: list[str]) -> None:
    """Measure the histories of the programs that this machine has what it needs for."""
    full = "--full" in words
    chosen = [word for word in words if not word.startswith("-")] or list(PROGRAMS)
    if unknown := [name for name in chosen if name not in PROGRAMS]:
        sys.exit(f"no such program: {', '.join(unknown)}; choose from {', '.join(PROGRAMS)}")
    names = [name for name in chosen if shutil.which(PROGRAMS[name].needs)]
    chance, misses, figures = random.Random(), [], {"not run": [name for name in chosen if name not in names]}
    for name, commits, is_changed in show_steps(list(_list_histories(names, full=full)), "histories"):
        changed = chance.randrange(1, commits) if is_changed else None
        label = f"{name}, {commits} commits, {f'+{PERCENT} % at {changed}' if is_changed else 'unchanged'}"
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
            history = _make_history(Path(folder, "project"), PROGRAMS[name], commits, changed)
            result, seconds = _measure_history(Path(folder, "project"), Path(folder, "home"))
        drifts = [drift for drift in result["drifts"] if drift["metric"] == "minor-faults"]
        proven = [history.index(drift["revision"]) for drift in drifts if drift["evidence"]["pairs"]]
        sure = [history.index(drift["revision"]) for drift in drifts if not drift["evidence"]["wants_rerun"]]
        print(f"{label}: proven at {proven}, sure at {sure}, {seconds:.0f} s", flush=True)
        figures[label] = {"proven": proven, "sure": sure, "seconds": round(seconds), "proofs": result["proofs"]}
        exact = [history.index(drift["revision"]) for drift in drifts if drift["rule"] == "exact"]
        if sorted({*proven, *(commit for commit in exact if commit in sure)}) != ([] if changed is None else [changed]):
            misses.append(f"{label}: proven at {proven}")
    finish_report("proven-histories", misses, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
