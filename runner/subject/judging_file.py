"""Chooses the workload file by which a gate judges: that of the target branch, which no pull request can change."""

from contextlib import suppress
from pathlib import Path

from runner.contract.gate import JudgeChange, JudgeSource
from runner.errors import FaultwatchError
from runner.subject.committed_workload import RequestedWorkload, load_committed_workload
from runner.subject.merge_bases import GateEnds
from runner.workload import Workload
from runner.workload.gate_cases import WorkloadFiles
from runner.workload.judge_changes import list_judge_changes

_MAX_MISTAKE_CHARACTERS = 300
"""Characters of the error in a workload file that a report of a gate has room for."""


def find_workload_files(
    ends: GateEnds, requested_workload: RequestedWorkload, scratch: Path
) -> tuple[WorkloadFiles, JudgeSource, tuple[JudgeChange, ...]]:
    """Find the workload file of each side, and the one by which the gate judges.

    The file at the tip of the target branch judges: the author of head chooses where their branch starts, but cannot
    change the tip.
    """
    head, is_committed = _find_head_workload(ends, requested_workload, scratch)
    mistake = ""
    judge = base = None
    try:
        judge = load_committed_workload(ends.repository, ends.target, requested_workload, scratch)
    except FaultwatchError as error:
        mistake = error.what
    if ends.base == ends.target:
        base = judge
    else:
        with suppress(FaultwatchError):
            base = load_committed_workload(ends.repository, ends.base, requested_workload, scratch)
    if mistake:
        # It must be possible to repair the file, and somebody else has to review the repair.
        change = JudgeChange(key="file", before=(mistake[:_MAX_MISTAKE_CHARACTERS],))
        return WorkloadFiles(head, head, head), JudgeSource.HEAD, (change,)
    judge = judge or base
    if judge is None:  # neither the target branch nor base has the file
        return WorkloadFiles(head, head, head), JudgeSource.HEAD if is_committed else JudgeSource.OUTSIDE, ()
    files = WorkloadFiles(judge, base or judge, head)
    return files, JudgeSource.TARGET, list_judge_changes(files)


def _find_head_workload(ends: GateEnds, requested_workload: RequestedWorkload, scratch: Path) -> tuple[Workload, bool]:
    """Return the workload of head, and whether head has it as a committed file.

    If head is checked out or does not have the file, the workload is that of the work tree.
    """
    head_workload = load_committed_workload(
        ends.repository, ends.measured_commit, requested_workload, scratch, search_all_folders=False
    )
    if head_workload is None:
        return requested_workload.workload, False
    is_checked_out = ends.repository.resolve("HEAD") == ends.measured_commit
    return requested_workload.workload if is_checked_out else head_workload, True
