"""How long users wait for a history and for a bisect of a real project, against the version at 907b894.

``make bench-history REPO=… WORKLOAD=… RANGE=A..B BISECT=A..B PARTS=history,identical,bisect``. Each side works in a
clone and begins with an empty home, the old version first:

- ``history`` measures the commits of RANGE. Both versions have to see the same changes, and the counts must be those
  that are measured without builds ahead and without taking any over.
- ``identical`` measures them with a commit after every fourth that changes a document only: a fifth of all.
- ``bisect`` searches the commits of BISECT, of which the younger half have the file ``faultwatch-planted``. The
  workload has to touch more memory where that file exists.

Builds that use several processors by themselves gain less.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.history_commits import clone, git, plant_file, with_documents
from bench.report import finish_report, show_steps

OLD = "907b894ca79c594ed173cde6fad81ba32b0f33d4"
ROOT = Path(__file__).parents[1]
MOST = {"history": 0.6, "identical": 0.5, "bisect": 0.7}
"""The largest ratio of the times, with two processors or more."""
LEAST = 500
"""Faults that the planted file has to bring: changes of the real history must not be searched."""
_RUN = re.compile(r"^  ([0-9a-f]{10}) (\S+) +([0-9,]+) minor faults", re.MULTILINE)
Counts = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Version:
    """A version of Faultwatch, in its own folder."""

    name: str
    folder: Path
    has_positions: bool = True
    """Whether its commands take workload and range as their first words."""

    def run(self, *words: str) -> tuple[float, str]:
        """Run a command with an empty home; return the seconds that it took, and what it printed."""
        with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as home:
            started_at = time.monotonic()
            completed = subprocess.run(
                [sys.executable, "-m", "runner", *words],
                cwd=self.folder,
                env=os.environ | {"FAULTWATCH_HOME": home, "PYTHONPATH": str(self.folder), "COLUMNS": "300"},
                check=False,
                capture_output=True,
                text=True,
            )
            seconds = time.monotonic() - started_at
        if completed.returncode:
            raise SystemExit(
                f"{self.name}: faultwatch {' '.join(words)}\n{completed.stdout[-2000:]}{completed.stderr[-2000:]}"
            )
        print(f"  {self.name}: faultwatch {words[0]}: {seconds:.0f} s", flush=True)
        return seconds, completed.stdout + completed.stderr

    def spell_target(self, repository: Path, workload: Path, span: str) -> tuple[str, ...]:
        """Return the arguments that name a range of a repository, as this version knows them."""
        if self.has_positions:
            return str(workload), span, "--repo", str(repository)
        return "--repo", str(repository), "--workload", str(workload), "--range", span

    def history(self, repository: Path, workload: Path, span: str, *options: str) -> tuple[float, Counts, int]:
        """Return the seconds of a history, its counts by commit and case, and how many of them were reused."""
        seconds, output = self.run("history", *self.spell_target(repository, workload, span), *options)
        counts: dict[tuple[str, str], int] = {}
        for commit, case, count in _RUN.findall(output):
            # A rerun, which ends a doubt, is printed in another form or after the first count.
            counts.setdefault((commit, case), int(count.replace(",", "")))
        return seconds, counts, output.count("  reused from ")


@dataclass(frozen=True)
class Bench:
    """The two versions, and the project on which they are compared."""

    old: Version
    new: Version
    repository: Path
    workload: Path
    span: str
    bisected: str

    def history(self, misses: list[str]) -> dict[str, object]:
        """Compare the history of a range, and its counts."""
        commits = git(self.repository, "rev-list", "--reverse", "--first-parent", self.span).split()
        return self._histories(self.span, commits, misses)

    def identical(self, misses: list[str]) -> dict[str, object]:
        """Compare a history a fifth of which changes documents only."""
        span, commits = with_documents(self.repository, self.span)
        return self._histories(span, commits, misses)

    def _histories(self, span: str, commits: Sequence[str], misses: list[str]) -> dict[str, object]:
        before, old, _ = self.old.history(self.repository, self.workload, span)
        after, new, reused = self.new.history(self.repository, self.workload, span)
        _, alone, _ = self.new.history(self.repository, self.workload, span, "--build-jobs", "1", "--measure-all")
        if not new or not {commit[:10] for commit in commits} <= {commit for commit, _ in new}:
            misses.append(f"{len(new)} runs of {len(commits)} commits and the one before them were counted")
        if new != alone:
            misses.append(f"{_count_differences(new, alone)} counts differ from those of one build after the other")
        if _list_changes(commits, new) != _list_changes(commits, old):
            misses.append(f"the changes differ from those of {self.old.name}")
        return {
            "runs": len(new),
            "reused": reused,
            "seconds before": round(before, 1),
            "seconds": round(after, 1),
            "ratio": round(after / before, 3),
            "counts as one after the other": new == alone,
            "counts that differ from before": _count_differences(new, old),
        }

    def bisect(self, misses: list[str]) -> dict[str, object]:
        """Compare a search for one commit."""
        good, bad, planted, number = plant_file(self.repository, self.bisected)
        options = ("--min-difference", str(LEAST), "--json")
        target = self.repository, self.workload, f"{good}..{bad}"
        words = [word for word in self.old.spell_target(*target) if word != "--range"]  # it takes the range by position
        before, _ = self.old.run("bisect", *words, *options)
        after, output = self.new.run("bisect", *self.new.spell_target(*target), *options)
        result, _ = json.JSONDecoder().raw_decode(output[output.index("{\n") :])
        found = [culprit["commit"] for culprit in result["answer"]["culprits"]]
        if found != [planted]:
            misses.append(f"found {found}, planted was {planted}")
        return {
            "commits": number,
            "seconds before": round(before, 1),
            "seconds": round(after, 1),
            "ratio": round(after / before, 3),
        }


def _count_differences(counts: Counts, others: Counts) -> int:
    return sum(counts.get(run) != others.get(run) for run in counts.keys() | others.keys())


def _list_changes(commits: Sequence[str], counts: Counts) -> list[tuple[str, str, int]]:
    """Return the steps between successive commits, by case."""
    return [
        (case, after, counts[after[:10], case] - counts[before[:10], case])
        for case in sorted({case for _, case in counts})
        for before, after in pairwise(commits)
        if (before[:10], case) in counts and (after[:10], case) in counts
    ]


def main(arguments: Sequence[str]) -> None:
    """Compare what was asked for."""
    parser = argparse.ArgumentParser(prog="make bench-history")
    parser.add_argument("repository", type=Path)
    parser.add_argument("workload", type=Path)
    parser.add_argument("span", nargs="?", default="HEAD~60..HEAD")
    parser.add_argument("--bisect", default="HEAD~300..HEAD")
    parser.add_argument("--parts", default="history,identical")
    chosen = parser.parse_args(arguments)
    misses: list[str] = []
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as name:
        folder = Path(name)
        old = clone(ROOT, folder / "old", OLD)
        repository = clone(chosen.repository, folder / "project")
        bench = Bench(
            Version(OLD[:7], old, has_positions=False),
            Version("now", ROOT),
            repository,
            chosen.workload.resolve(),
            chosen.span,
            chosen.bisect,
        )
        parts: dict[str, Callable[[list[str]], dict[str, object]]] = {
            "history": bench.history,
            "identical": bench.identical,
            "bisect": bench.bisect,
        }
        for part in show_steps(chosen.parts.split(","), "parts"):
            print(part, flush=True)
            found = figures[part] = parts[part](misses)
            print(f"  {found}", flush=True)
            ratio = found["ratio"]
            assert isinstance(ratio, float)
            if ratio > MOST[part]:
                misses.append(f"{part} takes {ratio:.2f} of the time before, more than {MOST[part]}")
    finish_report("history", misses, figures)


if __name__ == "__main__":
    main(sys.argv[1:])
