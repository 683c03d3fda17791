"""Chooses the judging file of a gate: the workload file of the target branch, which a pull request cannot change."""

from contextlib import suppress
from pathlib import Path

from runner.contract.gate import JudgeChange, JudgeSource
from runner.errors import FaultwatchError
from runner.subject.committed_workload import RequestedWorkload, load_committed_workload
from runner.subject.merge_bases import GateEnds
from runner.workload import Workload
from runner.workload.gate_cases import WorkloadFiles
from runner.workload.workload_file_changes import list_workload_file_changes

_MAX_MISTAKE_CHARACTERS = 300
"""The largest number of characters of a workload file's error that the report of a gate can contain."""


def find_workload_files(
    ends: GateEnds, requested_workload: RequestedWorkload, scratch: Path
) -> tuple[WorkloadFiles, JudgeSource, tuple[JudgeChange, ...]]:
    """Return the workload files of both sides and the judging file, its source, and the changes that head makes to it.

    The judging file is that at the tip of the target branch: the author of head chooses where their branch starts, but
    cannot change the tip. If the tip has none, that of base is used. If base has none either, or if that of the tip is
    not valid, it is that of head.
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
        # Accept head's file, because it must be possible to repair the file; a reviewer sees the reported change.
        change = JudgeChange(key="file", before=(mistake[:_MAX_MISTAKE_CHARACTERS],))
        return WorkloadFiles(judge=head, base=head, head=head), JudgeSource.HEAD, (change,)
    judge = judge or base
    if judge is None:  # Neither the target branch nor base has the file.
        source = JudgeSource.HEAD if is_committed else JudgeSource.OUTSIDE
        return WorkloadFiles(judge=head, base=head, head=head), source, ()
    files = WorkloadFiles(judge=judge, base=base or judge, head=head)
    return files, JudgeSource.TARGET, list_workload_file_changes(files)


def _find_head_workload(ends: GateEnds, requested_workload: RequestedWorkload, scratch: Path) -> tuple[Workload, bool]:
    """Return the workload of head, and whether it is a committed file of head.

    If head is checked out or does not have the file, the workload of the work tree is returned.
    """
    head_workload = load_committed_workload(
        ends.repository, ends.measured_commit, requested_workload, scratch, search_all_folders=False
    )
    if head_workload is None:
        return requested_workload.workload, False
    is_checked_out = ends.repository.resolve("HEAD") == ends.measured_commit
    return requested_workload.workload if is_checked_out else head_workload, True
