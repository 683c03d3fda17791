"""The store under load: taking runs in, answering, being backed up, being killed.

    make bench-store-full                               10 million samples in 2,000 series, 200 kills
    make bench-store                                    a tenth of both
    python -m bench.store --keep FOLDER queries         one part; others go on with the databases in that folder

The parts are `ingest`, `queries`, `backup` and `kill`. All but `kill` need a quiet machine: what is compared was
measured in the same run, but not at the same moment. A `kill` that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench import store_backup, store_ingest, store_kill, store_queries
from bench.report import finish_report, show_progress
from bench.store_data import Size
from bench.store_service import Service

LEAST_SHARE = 0.25
MOST_MS = 50.0
MOST_GROWTH = 1.5
MOST_WAIT_MS = 100.0
WORKERS = 2
PARTS = ("ingest", "queries", "backup", "kill")


def main() -> None:
    """Run the parts asked for and say what holds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them where none is named"
    )
    parser.add_argument("--full", action="store_true", help="all samples and kills, not a tenth")
    parser.add_argument("--commits", type=int, help="commits of each of the 100 cases")
    parser.add_argument("--kills", type=int)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the databases are, or are kept")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    size = Size(cases=100, commits=asked.commits or (1000 if asked.full else 100))
    kills = asked.kills if asked.kills is not None else 200 if asked.full else 20
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="faultwatch-bench-"))
    try:
        figures, misses = _measure_store(folder, size, kills, asked.parts or PARTS)
    finally:
        if asked.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    finish_report("store", misses, figures)


def _measure_store(folder: Path, size: Size, kills: int, parts: Sequence[str]) -> tuple[dict[str, object], list[str]]:
    misses: list[str] = []
    figures: dict[str, object] = {"samples": size.samples, "series": size.series}
    if {"ingest", "queries", "backup"} & set(parts):
        figures |= _measure_under_load(folder, size, parts, misses)
    if "kill" in parts:
        found = store_kill.kill_often(folder / "killed", kills, show_progress)
        print(f"\n{found['kills']} kills under ingest: {found}")
        figures["kill"] = found
        if found["lost"] or found["doubled"] or found["incomplete"] or found["integrity"] != "ok":
            misses.append(f"after kill -9: {found}")
    return figures, misses


def _measure_under_load(folder: Path, size: Size, parts: Sequence[str], misses: list[str]) -> dict[str, object]:
    there = (folder / "large" / "faultwatch.db").exists()
    if there and "ingest" in parts:
        raise SystemExit(f"{folder} holds a database already; name another folder, or leave the part 'ingest' out.")
    figures: dict[str, object] = {}
    large = Service(folder / "large", WORKERS)
    small = Service(folder / "small", WORKERS)
    try:
        if not there:
            figures |= _measure_ingestion(folder, large, size, misses)
            # As many points in a series, a hundredth of the series: the same questions have as long answers.
            store_ingest.ingest_runs(small, Size(1, size.commits), show_progress)
        for service in (small, large):
            _wait_until_judged(service)
        if "queries" in parts:
            figures |= _measure_queries(large, small, misses)
        if "backup" in parts:
            figures |= _measure_backup(large, folder, misses)
    finally:
        large.stop()
        small.stop()
    return figures


def _measure_ingestion(folder: Path, service: Service, size: Size, misses: list[str]) -> dict[str, object]:
    chunk = min(size.samples, 2_000_000)
    before = store_ingest.measure_bare_inserts(folder, chunk)
    taken = store_ingest.ingest_runs(service, size, show_progress)
    after = store_ingest.measure_bare_inserts(folder, chunk)
    bare = [(one + other) / 2 for one, other in zip(before, after, strict=True)]
    share, share_cpu = taken[0] / bare[0], taken[1] / bare[1]
    print(f"\nsamples a second                 by clock   by processor time\n{'-' * 64}")
    print(f"executemany alone               {bare[0]:>9,.0f}   {bare[1]:>9,.0f}   one row a sample, no index")
    print(f"through HTTP, {WORKERS} processes       {taken[0]:>9,.0f}   {taken[1]:>9,.0f}")
    print(f"share                           {share:>9.3f}   {share_cpu:>9.3f}   at least {LEAST_SHARE} by clock")
    if share < LEAST_SHARE:
        misses.append(f"ingest at {share:.3f} of executemany, {share_cpu:.3f} by processor time")
    return {
        "ingest_per_second": round(taken[0]),
        "bare_per_second": round(bare[0]),
        "ingest_share": round(share, 3),
        "ingest_share_by_processor": round(share_cpu, 3),
    }


def _wait_until_judged(service: Service) -> None:
    """Wait until all is judged."""
    start = time.monotonic()
    stale = "SELECT count(*) FROM series WHERE version <> judged_version AND metric IN ('minor-faults', 'major-faults')"
    while True:
        with closing(sqlite3.connect(service.database)) as connection:
            (left,) = connection.execute(stale).fetchone()
        if not left:
            break
        show_progress(f"{left:,} series to judge")
        time.sleep(0.5)
    print(f"\njudged within {time.monotonic() - start:.1f} s")


def _measure_queries(large: Service, small: Service, misses: list[str]) -> dict[str, object]:
    found = store_queries.measure_p95(small, large)
    print(f"\n{'p95, milliseconds':32} {'small':>8} {'large':>8} {'ratio':>6}\n{'-' * 64}")
    for name, (least, spent) in found.items():
        ratio = spent / least
        print(f"{name:32} {least:>8.1f} {spent:>8.1f} {ratio:>6.2f}")
        if spent > MOST_MS:
            misses.append(f"{name}: p95 {spent:.1f} ms")
        if ratio > MOST_GROWTH and name not in store_queries.LONGER:
            misses.append(f"{name}: {ratio:.2f} × what it takes in a small store")
    told = {name: [round(least, 1), round(spent, 1)] for name, (least, spent) in found.items()}
    return {"p95_ms_small_and_large": told}


def _measure_backup(service: Service, folder: Path, misses: list[str]) -> dict[str, object]:
    found = store_backup.time_writes_during_backup(service, folder)
    megabytes = service.database.stat().st_size / 1e6
    print(f"\nbackup of {megabytes:,.0f} MB in {found['seconds']:.1f} s, writes meanwhile: {found['writes']:.0f}")
    print(f"{'write, milliseconds':32} {'median':>8} {'longest':>8}\n{'-' * 64}")
    print(f"{'before':32} {found['median_before_ms']:>8.1f} {found['longest_before_ms']:>8.1f}")
    print(f"{'during':32} {found['median_ms']:>8.1f} {found['longest_ms']:>8.1f}")
    blocked = found["longest_ms"] - found["longest_before_ms"]
    if blocked > MOST_WAIT_MS:
        misses.append(f"a write took {found['longest_ms']:.0f} ms during a backup")
    return {"backup": {name: round(value, 1) for name, value in found.items()}, "megabytes": round(megabytes)}


if __name__ == "__main__":
    main()
