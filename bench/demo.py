"""The demo on fresh databases, again and again: the same four drifts each time, and nothing else.

Everything is real: builds, perf stat, the service. ``python -m bench.demo [RUNS]``, ten by default.
"""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.report import finish_report, show_steps

ROOT = Path(__file__).resolve().parents[1]
EXPECTED = ROOT / "workloads" / "copy_service" / "expected.toml"
RUNS = 10
AGAIN_LIMIT = 10.0
"""Seconds in which a second run must have found that everything is stored."""


def main(runs: int = RUNS) -> None:
    """Run the demo on fresh homes and compare what is flagged with what was planted."""
    expected = tomllib.loads(EXPECTED.read_text(encoding="utf-8"))["drift"]
    misses: list[str] = []
    first: list[float] = []
    second: list[float] = []
    outlier = 0
    print(f"{'run':>4} {'measured in':>12} {'again in':>9}  drifts")
    for number in show_steps(range(1, runs + 1), "runs of the demo"):
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as home:
            seconds, found = _run_demo(home)
            again, same = _run_demo(home)
            first.append(seconds)
            second.append(again)
            outlier += _count_samples_off_level(home)
            trouble = list_differences(expected, found["drifts"])
            if same["measured"]:
                trouble.append(f"{same['measured']} runs were measured a second time")
            if same["drifts"] != found["drifts"]:
                trouble.append("the second run sees other drifts")
            misses += [f"run {number}: {text}" for text in trouble]
            print(f"{number:>4} {seconds:>10.1f} s {again:>7.1f} s  {'; '.join(trouble) or 'as planted'}")
    if statistics.median(second) > AGAIN_LIMIT:
        misses.append(f"a run with everything stored takes {statistics.median(second):.1f} s, over {AGAIN_LIMIT:g} s")
    figures = {
        "runs": runs,
        "as_planted": runs - len({miss.split(":")[0] for miss in misses if miss.startswith("run ")}),
        "first_seconds_median": round(statistics.median(first), 1),
        "again_seconds_median": round(statistics.median(second), 1),
        "samples_off_their_level": outlier,
    }
    finish_report("demo", misses, figures)


def list_differences(expected: list[dict[str, Any]], drifts: list[dict[str, Any]]) -> list[str]:
    """Return in words how the flagged drifts differ from the planted ones; oldest first on both sides."""
    trouble = []
    # A configuration change names no commit.
    by_title = {drift["title"] or drift["cause"]: drift for drift in drifts}
    for plant in expected:
        drift = by_title.pop(plant["title"] if plant["cause"] == "commit" else plant["cause"], None)
        if drift is None:
            trouble.append(f"not flagged: {plant['title']}")
            continue
        change = drift["after"] - drift["before"]
        if drift["cause"] != plant["cause"]:
            trouble.append(f"{plant['title']}: cause {drift['cause']} instead of {plant['cause']}")
        if "exactly" in plant and change != plant["exactly"]:
            trouble.append(f"{plant['title']}: {change:+} instead of {plant['exactly']:+}")
        if "at_least" in plant and change < plant["at_least"]:
            trouble.append(f"{plant['title']}: {change:+}, less than {plant['at_least']:+}")
        if sorted(setting["name"] for setting in drift["settings"]) != sorted(plant.get("settings", [])):
            trouble.append(f"{plant['title']}: settings {[setting['name'] for setting in drift['settings']]}")
    trouble += [f"flagged, but not planted: {title} ({drift['metric']})" for title, drift in by_title.items()]
    if len(drifts) != len({drift["id"] for drift in drifts}) or len(drifts) > len(expected):
        trouble.append(f"{len(drifts)} drifts instead of {len(expected)}")
    return trouble


def _run_demo(home: str) -> tuple[float, dict[str, Any]]:
    started = time.monotonic()
    result = subprocess.run(
        [sys.executable, "-m", "runner", "demo", "--json"],
        cwd=ROOT,
        env=os.environ | {"FAULTWATCH_HOME": home},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(f"the demo failed: {result.stderr.strip().splitlines()[-1:]}")
    document: dict[str, Any] = json.loads(result.stdout)
    return time.monotonic() - started, document


def _count_samples_off_level(home: str) -> int:
    """Count the samples that do not repeat the minor faults of their run to the fault; equal ones are not stored."""
    with closing(sqlite3.connect(Path(home, "faultwatch.db"))) as database:
        rows = database.execute(
            "SELECT point.samples FROM point JOIN series ON series.id = point.series_id "
            "WHERE metric = 'minor-faults' AND point.samples IS NOT NULL"
        )
        values = [json.loads(samples) for (samples,) in rows]
    return sum(value != statistics.mode(run) for run in values for value in run)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
