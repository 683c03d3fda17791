"""Does any input at any public door crash the service or the runner, take 512 MiB, or take 2 s? A million inputs."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.report import finish_report, show_steps
from tests.fuzz import door

SHOWN = 20
"""Misses that are spelled out."""
PART = 20_000
"""Inputs of one process: what it leaves behind ends with it."""


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--door", action="append", choices=door.names(), help="Repeatable. Default: all.")
    options.add_argument("--first", type=int, default=0, help="The number of the first input: repeats a single one.")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--part", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.part:
        with tempfile.TemporaryDirectory() as folder:
            result = door.fuzz(chosen.door[0], Path(folder), chosen.inputs, chosen.seed, chosen.first)
        print(json.dumps(vars(result)))
        return
    started = time.monotonic()
    shares = door.shares(chosen.inputs, chosen.door or door.names())
    parts = [
        (name, first, min(PART, chosen.first + share - first))
        for name, share in shares.items()
        for first in range(chosen.first, chosen.first + share, PART)
    ]
    with ThreadPoolExecutor(chosen.processes) as pool:
        each = pool.map(lambda part: (part[0], _send_inputs(*part, seed=chosen.seed)), parts)
        completed = list(show_steps(each, f"parts of up to {PART:,} inputs", len(parts)))
    results = {name: [result for of, result in completed if of == name] for name in shares}
    _show_results(results, time.monotonic() - started)


def _send_inputs(name: str, first: int, inputs: int, seed: int) -> door.Result:
    """Send a part of the inputs in its own process; that the process dies is a miss."""
    words = ["--part", "--door", name, "--first", str(first), "--inputs", str(inputs), "--seed", str(seed)]
    completed = subprocess.run(
        [sys.executable, "-m", "bench.fuzz_doors", *words], capture_output=True, text=True, check=False
    )
    if completed.returncode:
        return door.Result(misses=[f"{name} {first}…: exit {completed.returncode}: {completed.stderr[-500:]}"])
    return door.Result(**json.loads(completed.stdout.splitlines()[-1]))


def _show_results(results: dict[str, list[door.Result]], seconds: float) -> None:
    table = Table("door", "inputs", "fates", "slowest", "memory", "misses")
    figures: dict[str, float] = {"seconds": round(seconds)}
    misses: list[str] = []
    for name, parts in results.items():
        inputs = sum(part.inputs for part in parts)
        slowest, peak = max(part.slowest for part in parts), max(part.peak for part in parts)
        fates: dict[str, int] = {}
        for part in parts:
            misses += part.misses
            for fate, number in part.fates.items():
                fates[fate] = fates.get(fate, 0) + number
        said = ", ".join(f"{fate}: {number:,}" for fate, number in sorted(fates.items(), key=lambda one: -one[1]))
        number = sum(len(part.misses) for part in parts)
        table.add_row(name, f"{inputs:,}", said, f"{slowest:.2f} s", f"{peak >> 20} MiB", f"{number:,}")
        figures |= {f"{name}: inputs": inputs, f"{name}: slowest, s": round(slowest, 3), f"{name}: MiB": peak >> 20}
    figures["inputs"] = sum(part.inputs for parts in results.values() for part in parts)
    Console(width=160).print(table)
    finish_report("fuzz_doors", misses[:SHOWN], figures)


if __name__ == "__main__":
    main()
