"""A git repository with merges, tags and unmeasured commits, and what two hosts counted along it.

The main line has forty commits, ``Main 0`` to ``Main 39``; two branches are merged into it. What moves a count is in
:func:`faults`; the service gets the commits, the tags and the counts, as ``faultwatch history`` sends them.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runner.contract import Build, Case, Environment, Host, Outcome, Reading, Report, Revision, Sample
from runner.contract.report import Ref
from runner.reporting.client import Service
from runner.subject.repository import open_repository

SUBJECT = "pagemill"
START = datetime(2025, 6, 2, 9, tzinfo=UTC)
LAB_1, LAB_2 = "lab-1", "lab-2"
GLIBC = Environment(settings={"kernel.release": "6.12.9", "variable.LD_PRELOAD": ""})
NEW_KERNEL = Environment(settings={**GLIBC.settings, "kernel.release": "6.17.2"})
JEMALLOC = Environment(settings={**GLIBC.settings, "variable.LD_PRELOAD": "/usr/lib/libjemalloc.so.2"})
DECODE, SCAN, CACHE, FEW = (
    Case(workload=name, definition="0123456789abcdef", parameters={"mib": 8})
    for name in ("decode", "scan", "cache", "few")
)
"""``cache`` has two modes and no level of its own; ``few`` counts so little that one more fault is much in percent."""
POOL_MERGE, HELD, ONE_FAULT, KERNEL, ARENA_MERGE, BETTER, LAST, UNMEASURED = 13, 16, 20, 24, 29, 33, 36, 39
"""Commits of the main line: merges, and those that move a count; the last measured one, and one that is not."""
BIG = 72_725
_TIMES = 6
"""Runs of each commit: so many that every change between two commits is certain."""
_AUTHORS = ("Ada", "Bo", "Cy")


@dataclass(frozen=True)
class OwnHistory:
    """The repository, and its commits by title."""

    repository: Path
    commits: dict[str, str]

    def main(self, number: int) -> str:
        """Return the hash of a commit of the main line."""
        return next(commit for title, commit in self.commits.items() if title in titles(number))


def titles(number: int) -> tuple[str, str]:
    """Return the titles that a commit of the main line can have: its own, or that of a merge."""
    return f"Main {number}", f"Merge branch {number}"


def make(folder: Path) -> OwnHistory:
    """Make the repository."""
    folder.mkdir()
    _git(folder, 0, "init", "--quiet", "--initial-branch=main")
    for number in range(40):
        if number in {POOL_MERGE, ARENA_MERGE}:
            _branch(folder, number)
        else:
            _commit(folder, number, f"Main {number}")
        if number in {4, 22}:
            _git(folder, number, "tag", {4: "v1.0", 22: "v1.1"}[number])
    _git(folder, 40, "tag", "v2.0")
    log = _git(folder, 0, "log", "--format=%H %s", "--all")
    return OwnHistory(
        folder, {title: commit for commit, _, title in (line.partition(" ") for line in log.splitlines())}
    )


def send(history: OwnHistory, service: Service, *, until: int, after: int = -1) -> None:
    """Send the commits and their names, and the runs of a stretch of the main line."""
    repository = open_repository(str(history.repository), history.repository.parent)
    known = {revision.commit: revision for revision in repository.list_revisions("main", first_parent=False)}
    refs = repository.list_refs()
    assert {ref.name for ref in refs} == {"v1.0", "v1.1", "v2.0", "main", "pool", "arena"}
    service.send_revisions(SUBJECT, list(known.values()), [Ref.model_validate(ref.model_dump()) for ref in refs])
    reports = [
        report
        for number in range(after + 1, until + 1)
        if number in MEASURED
        for report in _reports(number, known[history.main(number)])
    ]
    for first in range(0, len(reports), 200):
        service.send_reports(reports[first : first + 200])


MEASURED = {*range(10), *range(POOL_MERGE, 18), *range(ONE_FAULT, 27), ARENA_MERGE, *range(31, LAST + 1)}
"""What lies between them are ranges of several candidates."""


def faults(case: Case, number: int, environment: Environment, run: int) -> int:
    """Return what the kernel would count."""
    name = case.workload
    level = {"decode": 22_308, "scan": 61_440, "cache": 5_000, "few": 12}[name]
    if case is CACHE:
        return level + 32 * ((number + run) % 2)
    if case is DECODE and number >= POOL_MERGE:
        level += BIG
    if name in {"decode", "scan"} and number >= HELD:
        level += 409
    if number >= ONE_FAULT:
        level += 1
    if environment is NEW_KERNEL:
        level += 120
    if number >= ARENA_MERGE:
        level += {"decode": -29_810, "scan": 3_035, "few": 40}[name]
    if number >= BETTER and case is SCAN:
        level -= 4_000
    if number >= LAST and case is SCAN:
        level += 5_000
    return level + (556 if environment is JEMALLOC else 0)


def _reports(number: int, revision: Revision) -> Iterator[Report]:
    for case in (DECODE, SCAN, CACHE, FEW):
        times = 1 if number == LAST else _TIMES  # the newest change is not certain yet
        environments = [GLIBC] if number <= KERNEL else []
        environments += [NEW_KERNEL] if number >= KERNEL else []
        for environment in environments:
            for run in range(times):
                yield _report(number, revision, case, LAB_1, environment, run)
        if number == 8:
            yield from (_report(number, revision, case, LAB_1, JEMALLOC, run) for run in range(_TIMES))
        if number <= 22:
            yield from (_report(number, revision, case, LAB_2, GLIBC, run) for run in range(_TIMES))


def _report(number: int, revision: Revision, case: Case, host: str, environment: Environment, run: int) -> Report:
    at = START + timedelta(days=60, hours=number, minutes=run, seconds=30 * (environment is not GLIBC))
    count = faults(case, number, environment, run)
    samples = tuple(
        Sample(readings={"minor-faults": Reading(value=count), "elapsed": Reading(value=1 + (run + n) % 5 / 50)})
        for n in range(3)
    )
    return Report(
        run_id=uuid.uuid5(uuid.NAMESPACE_OID, f"{number} {case.name} {host} {environment.hash} {run}"),
        subject=SUBJECT,
        revision=revision,
        case=case,
        host=Host(name=host),
        environment=environment,
        runner_version="0.1.0",
        started_at=at,
        finished_at=at + timedelta(seconds=20),
        outcome=Outcome.MEASURED,
        samples=samples,
        build=Build(command=("make",), seconds=40),
    )


def _branch(folder: Path, number: int) -> None:
    """Merge a branch of five commits that started three commits before; main has gone on."""
    name = "pool" if number == POOL_MERGE else "arena"
    _git(folder, number, "checkout", "--quiet", "-b", name, "HEAD~3")
    for step in range(5):
        _commit(folder, number, f"{name.capitalize()} {step}")
    _git(folder, number, "checkout", "--quiet", "main")
    _git(folder, number, "merge", "--quiet", "--no-ff", "--message", f"Merge branch {number}", name)


def _commit(folder: Path, number: int, title: str) -> None:
    (folder / f"{title.partition(' ')[0].lower()}.txt").write_text(f"{title}\n", encoding="utf-8")
    _git(folder, number, "add", "--all")
    _git(folder, number, "commit", "--quiet", "--message", title)


def _git(folder: Path, number: int, *words: str) -> str:
    author = _AUTHORS[number % len(_AUTHORS)]
    date = (START + timedelta(days=number)).isoformat()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": f"{author.lower()}@example.invalid",
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": f"{author.lower()}@example.invalid",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }
    words = ("git", "-C", str(folder), *words)
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout
