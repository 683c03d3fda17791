"""Measures a project with the command line of Faultwatch, as a user does, and reads what it prints."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from findings.stored import Counts, Culprit, Drift

METRIC = "minor-faults"
"""The metric of all findings: the others are parts of it, or noisy."""


class Product(Struct, frozen=True):
    """The commands, with a data folder of their own."""

    home: Path
    workload: Path
    """The folder of the workload file."""
    repository: Path

    def history(self, span: str, options: Sequence[str]) -> dict[str, Any]:
        """Measure a range, as far as it is not stored, and return what the command prints with --json."""
        words = ("history", str(self.workload), span, "--repo", str(self.repository), *options, "--json")
        document: dict[str, Any] = json.loads(self._run("faultwatch", words, may_fail=False))
        return document

    def prove(self, drift: Drift, options: Sequence[str]) -> Drift:
        """Search the commits that can have caused a drift; return it with those that did, and their proofs.

        Parameters
        ----------
        options
            Those of the history. What it measured in a sandbox is searched in one.
        """
        span = f"{drift.parent}..{drift.commit}"
        sandbox = [option for option in options if option == "--sandbox"]
        words = ("bisect", str(self.workload), span, "--repo", str(self.repository), "--case", drift.case, *sandbox)
        # Exit code 1: nothing was proven; the document says why.
        answer = json.loads(self._run("faultwatch", (*words, "--metric", drift.metric, "--json"), may_fail=True))
        found = answer["answer"]
        if found["kind"] != "found":
            return replace(drift, not_proven=found["sentence"])
        return replace(drift, culprits=tuple(_make_culprit(culprit) for culprit in found["culprits"]))

    def counts(self, revisions: Collection[str]) -> Counts:
        """Return how many of some revisions are stored, from the export of all samples."""
        exported = self._run("faultwatch-service", ("export", "--quiet"), may_fail=False)
        return counts_of(csv.DictReader(exported.splitlines()), revisions)

    def settings(self) -> dict[str, str]:
        """Return the settings of this host."""
        document: dict[str, dict[str, str]] = json.loads(self._run("faultwatch", ("env", "--json"), may_fail=False))
        return document["settings"]

    def _run(self, program: str, words: Sequence[str], *, may_fail: bool) -> str:
        """Run a command, whose progress is shown, and return its output."""
        result = subprocess.run(
            [str(Path(sys.executable).with_name(program)), *words],
            env={**os.environ, "FAULTWATCH_HOME": str(self.home)},
            check=False,
            stdout=subprocess.PIPE,
            text=True,
        )
        if result.returncode not in ({0, 1} if may_fail else {0}):
            raise SystemExit(f"{program} {words[0]}: exit code {result.returncode}")
        return result.stdout


def counts_of(rows: Iterable[Mapping[str, str]], revisions: Collection[str]) -> Counts:
    """Return how many of some revisions have runs among the exported samples; those of bisects are in there, too."""
    first: dict[tuple[str, str], datetime] = {}
    reused, judged = set(), set()
    for row in rows:
        if row["metric"] != METRIC or row["revision"] not in revisions:
            continue
        run = row["revision"], row["case"]
        started = datetime.fromisoformat(row["started_at"])
        first[run] = min(started, first.get(run, started))
        if row["reused"] == "true":
            reused.add(run)
        elif row["quarantined"] == "false":
            judged.add(run)
    measured = {revision for revision, _ in first}
    # Without a run, because nothing builds, no time went by either.
    took = max(first.values()) - min(first.values()) if first else timedelta()
    return Counts(
        revisions=len(revisions),
        measured=len(measured),
        same_bytes=len(reused),
        failed=len(revisions) - len(measured),
        not_judged=len(first.keys() - reused - judged),
        runs=len(first),
        seconds=round(took.total_seconds()),
    )


def drifts_of(document: dict[str, Any]) -> tuple[Drift, ...]:
    """Return the drifts of a history that are sure and blamed on commits, oldest first."""
    chosen = [
        drift
        for drift in document["drifts"]
        if drift["metric"] == METRIC
        and drift["cause"] == "commit"
        and not drift["evidence"]["wants_rerun"]
        and not drift["below_floor"]
    ]
    chosen.sort(key=lambda drift: (drift["committed_at"], drift["case"]))
    return tuple(_make_drift(drift) for drift in chosen)


def _make_drift(drift: dict[str, Any]) -> Drift:
    commits = tuple(candidate["commit"] for candidate in drift["candidates"])
    return Drift(
        case=drift["case"],
        metric=drift["metric"],
        commit=commits[-1] if commits else drift["revision"],
        parent=drift["last_good"] or drift["previous_revision"],
        subject=drift["candidates"][-1]["title"] if commits else "",
        before=drift["before"],
        after=drift["after"],
        percent=None if drift["percent"] is None else round(drift["percent"], 2),
        candidates=commits if len(commits) > 1 else (),
        rule=drift["rule"],
        price=(drift.get("price") or {}).get("sentence", ""),
    )


def _make_culprit(culprit: dict[str, Any]) -> Culprit:
    proof = culprit["proof"] or {"state": "open", "sentence": "Not measured."}
    return Culprit(
        commit=culprit["commit"],
        parent=culprit["parent"],
        subject="",
        before=culprit["before"],
        after=culprit["after"],
        proof=proof["sentence"],
        proven=proof["state"] == "stands",
    )
