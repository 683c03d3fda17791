"""What a job of GitHub Actions reports to the service about a pull request."""

import os
import re
from collections.abc import Mapping, Sequence

from runner.compare import Compared
from runner.contract.gate import GateCase, GateReport
from runner.workload import Workload


def gate_report(
    results: Sequence[Compared], workload: Workload, base: str, head: str, environment: Mapping[str, str] = os.environ
) -> GateReport | None:
    """Return the report of a job; None outside of GitHub Actions."""
    repository = environment.get("GITHUB_REPOSITORY")
    if environment.get("GITHUB_ACTIONS") != "true" or not repository:
        return None
    number = re.fullmatch(r"refs/pull/(\d+)/merge", environment.get("GITHUB_REF", ""))
    server, run = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_RUN_ID")
    return GateReport(
        repository=repository,
        # A job that the service ordered runs for a branch: the service knows the pull request by its head.
        pull_request=int(number[1]) if number else None,
        base=base,
        head=head,
        cases=tuple(
            GateCase(
                base=result.base,
                head=result.head,
                precision=workload.metrics.precision,
                budgets=workload.metrics.budget,
            )
            for result in results
        ),
        log_url=f"{server}/{repository}/actions/runs/{run}" if server and run else "",
    )
