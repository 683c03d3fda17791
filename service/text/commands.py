"""Commands that measure again what a page shows. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from runner.contract import Case, Report, SearchRequest
from runner.contract.job import BisectQuestion

_VARIABLE = "variable."


def measure(report: Report) -> str:
    """Return the command that measures the case of a run at its revision, with its environment variables.

    The service does not know where the reader's clone is: the command names a folder called like the subject.
    """
    return _at_its_revision("measure", report)


def profile_each(before: Report, after: Report) -> str:
    """Return the commands that profile one commit in the environments of two runs, as far as variables make them."""
    return "\n".join(_at_its_revision("profile", report) for report in (before, after))


def compare(base: str, head: str, subject: str, workloads: Iterable[str]) -> str:
    """Return the commands that measure two commits in turns: one for each workload, a line each."""
    return "\n".join(
        shlex.join(
            ["faultwatch", "compare", base[:12], head[:12], "--repo", f"./{subject}", "--workload", workload],
        )
        for workload in workloads
    )


def bisect(asked: BisectQuestion, found: SearchRequest | None) -> str:
    """Return the command that leads a search again; what is known of its commits and variables is filled in."""
    good, bad = (found.good[:12], found.bad[:12]) if found else (asked.good, asked.bad)
    workload = asked.workload or (found.case.workload if found else asked.case.partition("[")[0])
    words = ["faultwatch", "bisect", f"{good}..{bad}", "--repo", f"./{asked.subject}", "--workload", workload]
    words += ["--case", asked.case, "--metric", asked.metric]
    if asked.least:
        words += ["--least", f"{asked.least:g}"]
    for name, value in sorted(asked.variables.items()):
        words += ["--env", f"{name}={value}"]
    return shlex.join(words)


def knobs(before: Report, after: Report) -> str:
    """Return the command that finds which of the knobs that differ between two runs move the metrics."""
    words = ["faultwatch", "bisect", after.revision.commit[:12], "--knobs", f"{before.run_id}..{after.run_id}"]
    words += ["--repo", f"./{after.subject}", "--workload", after.case.workload]
    return shlex.join([*words, *_settings(after.case)])


def profile(asked: SearchRequest, parent: str, commit: str) -> str:
    """Return the command that profiles a commit beside its parent."""
    words = ["faultwatch", "profile", asked.case.workload, "--repo", f"./{asked.subject}"]
    return shlex.join([*words, "--revision", f"{parent[:12]}..{commit[:12]}", *_settings(asked.case)])


def _at_its_revision(command: str, report: Report) -> str:
    words = ["faultwatch", command, report.case.workload, "--repo", f"./{report.subject}"]
    words += ["--revision", report.revision.commit[:12]]
    words += _settings(report.case)
    for name, value in sorted(report.environment.knobs.items()):
        if name.startswith(_VARIABLE):
            words += ["--env", f"{name.removeprefix(_VARIABLE)}={value}"]
    return shlex.join(words)


def _settings(case: Case) -> list[str]:
    return [
        word
        for name, value in sorted(case.parameters.items())
        for word in ("--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    ]
