"""Builds the gate's report of a pull request for the service."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.cli.ci_job import detect_ci_job
from runner.cli.gate_plan import GatePlan
from runner.contract.gate import MAX_FILE_CHARACTERS, ForgeKind, GateCase, GateReport
from runner.measuring.comparison import ComparisonResult
from runner.workload.budget_lines import find_budget_lines


def build_gate_report(
    results: Sequence[ComparisonResult], plan: GatePlan, environment: Mapping[str, str] = os.environ
) -> GateReport:
    """Return the report of a gate; outside the CI of a forge, it names no pull request.

    Parameters
    ----------
    results
        The result of each case of the plan.
    """
    job = detect_ci_job(environment)
    ends, judge = plan.ends, plan.files.judge
    file, lines = _find_budget_lines(plan.named_workload.path, ends.repository.path)
    # The service judges the cases. The report only states what was measured, where, and by which rules.
    return GateReport(
        forge=ForgeKind(job.forge),
        repository=job.repository,
        pull_request=job.pull_request,
        merge_group=job.merge_group,
        base=ends.base,
        head=ends.head,
        target=ends.target,
        merge=ends.measured_commit if ends.is_merge else None,
        merge_bases=ends.merge_bases,
        judged_by=plan.judge_source,
        changes=plan.changes,
        cases=tuple(
            GateCase(
                base=result.base,
                head=result.head,
                judge=judge.metrics.judge,
                precision=judge.metrics.precision,
                budgets=judge.metrics.budget,
                file=file,
                lines=lines,
                base_stored=result.base_stored,
                max_pairs=result.max_pairs,
                explanation=result.explanation,
                added=case_pair.added,
            )
            for result, case_pair in zip(results, plan.case_pairs, strict=True)
        ),
        caveat=judge.workload.caveat,
        may_be_unmeasured=judge.workload.unmeasured == "pass",
        log_url=job.log_url,
    )


def _find_budget_lines(file: Path, tree: Path) -> tuple[str, dict[str, int]]:
    """Return the workload file relative to its repository, and the line of each budget.

    Both are empty if the file is outside, or if a report cannot contain its name. The lines are unknown, and left out,
    if the file cannot be read any more.

    Parameters
    ----------
    tree
        The work tree of the repository, or a folder inside.
    """
    path, tree = file.resolve(), tree.resolve()
    repository_root = next((folder for folder in (tree, *tree.parents) if (folder / ".git").exists()), tree)
    if not path.is_relative_to(repository_root):
        return "", {}
    name = path.relative_to(repository_root).as_posix()
    if len(name) > MAX_FILE_CHARACTERS or name != name.encode(errors="replace").decode():
        return "", {}
    try:
        return name, find_budget_lines(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):  # it was removed or changed during the measurements
        return name, {}
