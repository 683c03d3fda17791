"""Writes the commands that repeat the measurements on a page.

The service does not know where the reader's clone is. Each command is therefore meant to be run in the folder of the
clone, and refers to the workload by the name in its file.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from runner.contract import Case, Report, SearchRequest
from runner.contract.base import Parameter, format_parameter
from runner.contract.job import BisectQuestion

CURRENT_FOLDER = "."
"""The path of the repository in all commands."""
_VARIABLE_PREFIX = "variable."
_HIDDEN_PART = "(hidden)"
"""What the runner reports instead of a secret, or of a secret part of a value."""


def build_measure_command(report: Report, commit: str = "") -> str:
    """Return the command that measures a run's case again, at its revision or another one, with its variables."""
    return _build_repeat_command("measure", report, commit)


def build_profile_commands(before: Report, after: Report) -> str:
    """Return the commands that profile a commit with the environment variables of two runs."""
    return "\n".join(_build_repeat_command("profile", report) for report in (before, after))


def build_compare_commands(base: str, head: str, workloads: Iterable[str]) -> str:
    """Return the commands that measure two commits interleaved, one line for each workload."""
    return "\n".join(
        shlex.join(
            ["faultwatch", "compare", workload, f"{base[:12]}..{head[:12]}", "--repo", CURRENT_FOLDER],
        )
        for workload in workloads
    )


def build_compare_case_command(base: Report, head: Report) -> str:
    """Return the command that measures a case of two commits interleaved."""
    commit_range = f"{base.revision.commit[:12]}..{head.revision.commit[:12]}"
    words = ["faultwatch", "compare", head.case.workload, commit_range, "--repo", CURRENT_FOLDER]
    return shlex.join([*words, *list_parameter_options(head.case.parameters)])


def build_bisect_command(question: BisectQuestion, search: SearchRequest | None) -> str:
    """Return the command that repeats a bisect.

    Parameters
    ----------
    search
        The request of the search, which contains the full hashes of the commits; None before the search has begun.
    """
    good, bad = question.good, question.bad
    workload = question.case.partition("[")[0]  # A case is named after its workload: "scan[stride=64]".
    if search is not None:
        good, bad = search.good[:12], search.bad[:12]
        workload = search.case.workload
    # The question names a workload only if it differs from the one that the case is named after.
    words = ["faultwatch", "bisect", question.workload or workload, f"{good}..{bad}", "--repo", CURRENT_FOLDER]
    words += ["--case", question.case, "--metric", question.metric]
    if question.min_difference:
        # All digits, because a rounded limit would be another question.
        words += ["--min-difference", repr(question.min_difference).removesuffix(".0")]
    for name, value in sorted(question.variables.items()):
        words += ["--env", f"{name}={value}"]
    return shlex.join(words)


def build_settings_command(before: Report, after: Report) -> str:
    """Return the command that finds the settings that move the metrics, among those that differ between two runs."""
    words = ["faultwatch", "bisect", after.case.workload, "--repo", CURRENT_FOLDER]
    words += ["--revision", after.revision.commit[:12], "--settings", f"{before.run_id}..{after.run_id}"]
    return shlex.join([*words, *list_parameter_options(after.case.parameters)])


def build_profile_command(case: Case, parent: str, commit: str) -> str:
    """Return the command that profiles a commit and its parent."""
    words = ["faultwatch", "profile", case.workload, f"{parent[:12]}..{commit[:12]}", "--repo", CURRENT_FOLDER]
    return shlex.join([*words, *list_parameter_options(case.parameters)])


def list_parameter_options(parameters: Mapping[str, Parameter]) -> list[str]:
    """Return the options that select a point of a parameter matrix."""
    return [
        word for name, value in sorted(parameters.items()) for word in ("--set", f"{name}={format_parameter(value)}")
    ]


def _build_repeat_command(command: str, report: Report, commit: str = "") -> str:
    """Return a command that repeats a run: its case, its commit and its variables.

    The values of secrets are not stored, so their variables are left out.
    """
    words = ["faultwatch", command, report.case.workload, "--repo", CURRENT_FOLDER]
    words += ["--revision", (commit or report.revision.commit)[:12]]
    words += list_parameter_options(report.case.parameters)
    for name, value in sorted(report.environment.settings.items()):
        if name.startswith(_VARIABLE_PREFIX) and _HIDDEN_PART not in value:
            words += ["--env", f"{name.removeprefix(_VARIABLE_PREFIX)}={value}"]
    return shlex.join(words)
