"""Does damaged perf output ever give a wrong number without an error? 100,000 damaged recordings."""

import argparse
import json
import random
import sys
import time
from collections import Counter

from rich.console import Console
from rich.table import Table

from tests.runner.perf.mutation import MUTATIONS, asked_of, describe, fate, readable
from tests.runner.perf.recordings import outputs

SHOWN = 20
"""Misses that are spelled out."""


def main() -> int:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    recordings = tuple(readable(outputs()))
    fates: dict[str, Counter[str]] = {name: Counter() for name in MUTATIONS}
    misses: list[str] = []
    started = time.monotonic()
    for number in range(chosen.inputs):
        output = rng.choice(recordings)
        name = rng.choice(list(MUTATIONS))
        damaged = MUTATIONS[name](output.text, rng)
        asked = asked_of(output) if number % 2 else ()
        became, problem = fate(output, damaged, asked)
        fates[name][became] += 1
        if problem:
            misses.append(f"{output.name}: {name}: {problem}: {describe(output, damaged)}")
    seconds = time.monotonic() - started
    _show(fates)
    total = sum(fates.values(), Counter())
    figures = {
        "inputs": chosen.inputs,
        "recordings": len(recordings),
        "refused": total["refused"],
        "same readings": total["same readings"],
        "fewer readings, lines gone": total["fewer readings"],
        "another count, as perf could print it": total["another output"],
        "wrong": total["WRONG"],
        "seconds": round(seconds, 1),
    }
    result = {"bench": "fuzz_perf", "holds": not misses, "misses": misses[:SHOWN], "figures": figures}
    print(json.dumps(result, ensure_ascii=False))
    return 1 if misses else 0


def _show(fates: dict[str, Counter[str]]) -> None:
    kinds = ("refused", "same readings", "fewer readings", "another output", "WRONG")
    table = Table("damage", *kinds)
    for name, counts in fates.items():
        table.add_row(name, *(f"{counts[kind]:,}" for kind in kinds))
    Console(width=120).print(table)


if __name__ == "__main__":
    sys.exit(main())
