"""Whether the first page shows at once what matters: three important changes among three hundred planted drifts.

``python -m bench.first_page [PICTURE [TRUTH]]``: plants drifts of very different size, price, breadth and certainty,
compares the first three rows of the first page with the three planted changes that matter most, and writes a picture of
what a desktop shows without scrolling, for readers who do not know the truth.

What matters is reckoned from what is planted alone: percent × faults × series × certainty. No rule of the service is
used.
"""

from __future__ import annotations

import sys
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from playwright.sync_api import sync_playwright

from bench.report import finish_report, show_progress
from bench.store_service import Service, post_json, wait_until_judged
from runner.contract import (
    Build,
    Case,
    Environment,
    Host,
    Outcome,
    Reading,
    Report,
    ReportList,
    Revision,
    RevisionList,
    Sample,
)
from tests.e2e.browser import DESKTOP, launched

SEED = 20
DRIFTS, IMPORTANT = 300, 3
COMMITS, CASES = 150, 16
APART = 10
"""Commits between two changes of a series: each level is known well."""
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
WEIGHTS = {"single": 0.9, "range": 0.75, "provisional": 0.25}
"""How sure a reader may be of a change and its commit."""
LEVELS: dict[str, list[tuple[float, float]]] = {
    "renderer": [(3e5, 9e5)] * 8 + [(1e6, 3e6)] * 8,
    "indexer": [(1e5, 4e5)] * 12 + [(40, 300)] * 3 + [(5e5, 5e5)],
    "codec": [(2e4, 1e5)] * 16,
    "solver": [(1e4, 2e5)] * 12 + [(40, 300)] * 4,
}
"""By subject: the range of the level of each case, in faults."""
IMPORTED, NOISY = "codec", range(12)
"""A subject whose results come from another tool, and the cases of ``solver`` whose counts vary from run to run."""
UNMEASURED = range(57, 61)
"""Commits of ``indexer`` between two measured ones."""
_AUTHORS = tuple(f"Author {letter}" for letter in "ABCDE")
_VERBS = ("Reuse", "Split", "Cache", "Inline", "Replace", "Simplify", "Align", "Share", "Drop", "Batch")
_NOUNS = (
    "the arena",
    "tile buffers",
    "the glyph table",
    "row groups",
    "the string pool",
    "scratch memory",
    "the index",
)
_BATCH = 300
_HEAVY_CASES, _WIDE_CASES = range(8), range(12)


@dataclass(frozen=True, slots=True)
class Planted:
    """One change: a commit of a subject moves some cases by a share of their levels."""

    subject: str
    commit: int
    cases: Sequence[int]
    percent: float
    faults: int
    """The largest change."""
    certainty: str = "single"

    @property
    def weight(self) -> float:
        """Size × price × series × certainty."""
        return abs(self.percent) * abs(self.faults) * len(self.cases) * WEIGHTS[self.certainty]


def main(picture: str | None = None, truth: str | None = None) -> None:
    """Plant, look, and compare."""
    changes, levels = plan_changes(Random(SEED))
    important = sorted(changes, key=lambda change: -change.weight)[:IMPORTANT]
    if truth:
        Path(truth).write_text(_format_truth(changes, important), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        service = Service(Path(folder))
        try:
            _fill_service(service, levels)
            shown, listed = _read_first_page(service, picture)
        finally:
            service.stop()
    wanted = {(change.subject, _make_hash(change.subject, change.commit)) for change in important}
    for subject, revision, headline in shown:
        print(f"{'*' if (subject, revision) in wanted else ' '} {subject} {revision[:10]} {headline}")
    first = {(subject, revision) for subject, revision, _ in shown[:IMPORTANT]}
    misses = [f"{revision[:10]} of {subject} is not among the first" for subject, revision in sorted(wanted - first)]
    planted = sum(len(change.cases) for change in changes)
    finish_report(
        "first-page", misses, {"planted": planted, "events": listed, "first": [row[2] for row in shown[:IMPORTANT]]}
    )


def plan_changes(random: Random) -> tuple[list[Planted], dict[tuple[str, int], list[int]]]:
    """Return what is planted, and the level of each subject and case at each commit.

    Three changes matter. Each of the others lacks something: it is large but cheap, dear but small, wide but tiny, or
    not certain yet.
    """
    bases = {
        (subject, case): round(random.uniform(*span))
        for subject, spans in LEVELS.items()
        for case, span in enumerate(spans)
    }
    steps: dict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    changes: list[Planted] = []

    def plant_change(
        subject: str, commit: int, cases: Sequence[int], percent: float, certainty: str = "single"
    ) -> None:
        for case in cases:
            steps[subject, case][commit] = round(bases[subject, case] * percent / 100) or 1
        largest = max((steps[subject, case][commit] for case in cases), key=abs)
        changes.append(Planted(subject, commit, cases, percent, largest, certainty))

    plant_change("indexer", 131, [15], 240)
    plant_change("renderer", 96, _HEAVY_CASES, 45)
    plant_change("indexer", UNMEASURED.stop, _WIDE_CASES, 28, "range")
    plant_change("renderer", 40, range(8, 16), 0.0002)
    plant_change("renderer", COMMITS - 1, [2], 20, "provisional")
    plant_change("indexer", COMMITS - 1, [3], 35, "provisional")
    while sum(len(change.cases) for change in changes) < DRIFTS:
        subject = random.choice(list(LEVELS))
        case, commit = random.randrange(CASES), random.randrange(APART, COMMITS - APART)
        near = any(abs(commit - other) < APART for other in steps[subject, case])
        if near or (subject == "indexer" and commit - APART < UNMEASURED.stop and commit >= UNMEASURED.start):
            continue
        plant_change(subject, commit, [case], random.choice((1, 1, -1)) * _choose_percent(random, bases[subject, case]))
    levels: dict[tuple[str, int], list[int]] = {}
    for key, base in bases.items():
        level = base
        levels[key] = [level := level + steps[key].get(commit, 0) for commit in range(COMMITS)]
    return changes, levels


def _choose_percent(random: Random, level: int) -> float:
    """Return the size of a change that does not matter much: the larger the level, the smaller."""
    if level < 1000:
        return random.uniform(10, 80) if random.random() < 0.7 else random.uniform(80, 400)
    return 10 ** random.uniform(-1.5, 0.9) if level < 250_000 else 10 ** random.uniform(-3, -0.5)


def _fill_service(service: Service, levels: dict[tuple[str, int], list[int]]) -> None:
    random = Random(SEED)
    for subject in LEVELS:
        commits = [_make_revision(subject, number) for number in range(COMMITS)]
        with closing(service.connect()) as connection:
            sent = RevisionList(revisions=tuple(commits)).model_dump_json().encode()
            connection.request(
                "PUT", f"/api/v1/subjects/{subject}/revisions", sent, {"Content-Type": "application/json"}
            )
            connection.getresponse().read()
            reports = [
                _make_report(random, subject, case, revision, levels[subject, case][number])
                for number, revision in enumerate(commits)
                for case in range(CASES)
                if subject != "indexer" or number not in UNMEASURED
            ]
            for first in range(0, len(reports), _BATCH):
                show_progress(f"{subject}: {first:,} of {len(reports):,} runs")
                batch = ReportList(reports=tuple(reports[first : first + _BATCH]))
                post_json(connection, "/api/v1/runs", batch.model_dump_json().encode())
    wait_until_judged(service.database)


def _make_report(random: Random, subject: str, case: int, revision: Revision, level: int) -> Report:
    varies = subject == IMPORTED or (subject == "solver" and case in NOISY)
    counts = [level + round(random.gauss(0, 2)) if varies else level for _ in range(1 if subject == IMPORTED else 3)]
    settings = {"kernel.release": "6.12.9"} | ({"import.format": "csv"} if subject == IMPORTED else {})
    at = revision.committed_at + timedelta(days=3, minutes=case)
    return Report(
        run_id=uuid.UUID(int=random.getrandbits(128), version=4),
        subject=subject,
        revision=revision,
        case=Case(workload=f"{subject}_bench", definition="0123456789abcdef", parameters={"scene": case + 1}),
        host=Host(name="lab-1"),
        environment=Environment(settings=settings),
        runner_version="imported" if subject == IMPORTED else "1",
        started_at=at,
        finished_at=at + timedelta(seconds=20),
        outcome=Outcome.MEASURED,
        samples=tuple(Sample(readings={"minor-faults": Reading(value=max(count, 0))}) for count in counts),
        build=Build(command=("make",), seconds=30),
    )


def _make_revision(subject: str, number: int) -> Revision:
    random = Random(f"{subject} {number}")
    return Revision(
        commit=_make_hash(subject, number),
        parents=(_make_hash(subject, number - 1),) if number else (),
        author=random.choice(_AUTHORS),
        committed_at=START + timedelta(hours=26 * number),
        title=f"{random.choice(_VERBS)} {random.choice(_NOUNS)}",
    )


def _make_hash(subject: str, number: int) -> str:
    return f"{Random(f'commit {subject} {number}').getrandbits(160):040x}"


def _read_first_page(service: Service, picture: str | None) -> tuple[list[tuple[str, str, str]], int]:
    """Return subject, commit and headline of the rows of the first page, and the number of open events."""
    with sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_page(viewport=DESKTOP, color_scheme="light")
        page.goto(f"http://127.0.0.1:{service.port}/", wait_until="load")
        if picture:
            page.screenshot(path=picture)
        links = page.locator("li.inbox-row a.title").evaluate_all("(all) => all.map((link) => link.href)")
        rows = []
        for link in links:
            event = page.request.get(link.replace("/events/", "/api/v1/events/")).json()
            rows.append((event["subject"], event["revision"], event["headline"]))
        total = page.request.get(f"http://127.0.0.1:{service.port}/api/v1/events?open=true&limit=1").json()["total"]
    return rows, total


def _format_truth(changes: Sequence[Planted], important: Sequence[Planted]) -> str:
    """Return the planted changes as text, to compare them with those that a reader names."""
    ranked = sorted(changes, key=lambda change: -change.weight)
    lines = [
        f"# The three most important of {sum(len(change.cases) for change in changes)} planted drifts",
        "",
        f"Reckoned from what was planted alone: percent × faults × series × certainty. Seed {SEED}. Written before the",
        "service was filled.",
        "",
    ]
    for place, change in enumerate(important, 1):
        lines.append(f"{place}. {_describe_change(change)}")
    lines += ["", "The next ones, for comparison:", ""]
    lines += [f"- {_describe_change(change)}" for change in ranked[IMPORTANT : IMPORTANT + 8]]
    return "\n".join([*lines, ""])


def _describe_change(change: Planted) -> str:
    title = _make_revision(change.subject, change.commit).title
    return (
        f"{change.subject} {_make_hash(change.subject, change.commit)[:10]} “{title}”: {change.percent:+.3g} %, up to "
        f"{change.faults:+,} faults, {len(change.cases)} series, {change.certainty} (weight {change.weight:.2g})"
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
