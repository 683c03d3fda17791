"""How long the history of a real project takes with builds ahead, against one build after the other.

``python -m bench.history REPOSITORY WORKLOAD [RANGE]``, run as ``make bench-history REPO=… WORKLOAD=… RANGE=…``. Each
side begins with an empty home, and both have to count the same. Builds that use several processors by themselves gain
less.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import finish

MOST_RATIO = 0.6
"""With two processors or more."""
_RUN = re.compile(r"^  ([0-9a-f]{10} \S+) +([0-9,]+) minor faults", re.MULTILINE)


def measure(home: Path, repository: str, workload: str, span: str, *options: str) -> tuple[float, dict[str, str]]:
    """Return the seconds that a history takes in an empty home, and its counts by revision and case."""
    command = [str(Path(sys.executable).with_name("faultwatch")), "history", "--repo", repository]
    began = time.monotonic()
    done = subprocess.run(
        [*command, "--workload", workload, "--range", span, *options],
        env=os.environ | {"FAULTWATCH_HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    )
    return time.monotonic() - began, dict(_RUN.findall(done.stdout + done.stderr))


def main(arguments: Sequence[str]) -> None:
    """Measure the history twice, and compare."""
    repository, workload, *rest = arguments
    span = rest[0] if rest else "HEAD~60..HEAD"
    sides: dict[str, tuple[float, dict[str, str]]] = {}
    for name, options in (("builds ahead", ()), ("one build after the other", ("--build-jobs", "1"))):
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as home:
            sides[name] = measure(Path(home), repository, workload, span, *options)
        print(f"  {name}: {len(sides[name][1])} runs in {sides[name][0]:.0f} s", flush=True)
    (ahead, counts), (alone, expected) = sides.values()
    ratio = ahead / alone
    misses = []
    if counts != expected or not counts:
        misses.append(f"{sum(counts.get(run) != count for run, count in expected.items())} counts differ")
    if ratio > MOST_RATIO:
        misses.append(f"builds ahead take {ratio:.2f} of the time, more than {MOST_RATIO}")
    figures = {"runs": len(counts), "seconds ahead": ahead, "seconds alone": alone, "ratio": ratio}
    finish("history", misses, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
