"""Builds the gate's report of a pull request for the service."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.contract.gate import GateCase, GateReport
from runner.measuring.comparison import Compared
from runner.workload import Workload
from runner.workload.budget_lines import budget_lines


def gate_report(
    results: Sequence[Compared],
    workload: Workload,
    tree: Path,
    base: str,
    head: str,
    environment: Mapping[str, str] = os.environ,
) -> GateReport:
    """Return the report of a gate; outside GitHub Actions it names no pull request."""
    repository = environment.get("GITHUB_REPOSITORY") if environment.get("GITHUB_ACTIONS") == "true" else None
    number = re.fullmatch(r"refs/pull/(\d+)/merge", environment.get("GITHUB_REF", ""))
    server, run = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_RUN_ID")
    file, lines = _budgets(workload.path, tree)
    return GateReport(
        repository=repository or None,
        # A job that the service ordered runs on a branch: the service finds the pull request by its head.
        pull_request=int(number[1]) if repository and number else None,
        base=base,
        head=head,
        cases=tuple(
            GateCase(
                base=result.base,
                head=result.head,
                judge=workload.metrics.judge,
                precision=workload.metrics.precision,
                budgets=workload.metrics.budget,
                file=file,
                lines=lines,
                base_stored=result.base_stored,
                most=result.most,
            )
            for result in results
        ),
        may_be_unmeasured=workload.workload.unmeasured == "pass",
        log_url=f"{server}/{repository}/actions/runs/{run}" if repository and server and run else "",
    )


def _budgets(file: Path, tree: Path) -> tuple[str, dict[str, int]]:
    """Return the workload file relative to its repository, and the line of each budget; empty if it lies outside.

    Parameters
    ----------
    tree
        The work tree of the repository, or a folder in it.
    """
    path, tree = file.resolve(), tree.resolve()
    top = next((folder for folder in (tree, *tree.parents) if (folder / ".git").exists()), tree)
    if not path.is_relative_to(top):
        return "", {}
    return path.relative_to(top).as_posix(), budget_lines(path.read_text(encoding="utf-8"))
