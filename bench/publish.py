"""How large a site is and how long it takes to write, of 500 commits × 50 cases with 20 metrics each.

``python -m bench.publish [COMMITS [CASES]]``: stores made-up runs, publishes them, and compares the size with its
limit. Every seventh case moves half way, at every 1,000th commit.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.report import finish_report, show_progress, show_steps
from bench.store_data import Size, build_stepping_batch, generate_batches
from service.app import create_app
from service.config.settings import Config
from service.publishing.publish_site import publish_site

COMMITS, CASES = 500, 50
MAX_MEGABYTES = 20.0
_RUNS_PER_REQUEST = 500
_MOVING = 20
"""Commits of another subject, of which nearly each moves a case."""


def main(commits: int = COMMITS, cases: int = CASES) -> None:
    """Store, publish, and compare with the limit."""
    size = Size(cases, commits)
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        config = Config(home=Path(folder), database_url=f"sqlite:///{Path(folder, 'site.db')}")
        client = create_app(config).test_client()
        requests = generate_batches(size, _RUNS_PER_REQUEST)
        for _, body in show_steps(requests, "requests", -(-size.runs // _RUNS_PER_REQUEST)):
            assert client.post("/api/v1/runs", data=body, content_type="application/json").status_code == 200
        client.post("/api/v1/runs", data=build_stepping_batch("moving", _MOVING, 4), content_type="application/json")
        site, started_at = Path(folder, "site"), time.perf_counter()
        published = publish_site(config, site, lambda done, known: show_progress(f"{done:,} of {known:,} files"))
        seconds = time.perf_counter() - started_at
        by_folder: Counter[str] = Counter()
        for file in site.rglob("*"):
            by_folder[file.relative_to(site).parts[0]] += file.stat().st_size if file.is_file() else 0
    megabytes = published.bytes / 1e6
    print(f"{size.runs:,} runs, {size.series:,} series: {published.pages:,} pages, {megabytes:.1f} MB, {seconds:.1f} s")
    for name, count in by_folder.most_common(6):
        print(f"  {name:20} {count / 1e6:8.2f} MB")
    misses = [f"{megabytes:.1f} MB, more than {MAX_MEGABYTES:.0f}"] if megabytes > MAX_MEGABYTES else []
    finish_report(
        "publish", misses, {"pages": published.pages, "megabytes": round(megabytes, 2), "seconds": round(seconds, 1)}
    )


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
