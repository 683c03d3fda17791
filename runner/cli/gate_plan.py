"""Plans a gate: which commits it compares, which workload file judges, and which cases it measures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from runner.contract.gate import JudgeChange, JudgeSource
from runner.errors import FaultwatchError
from runner.subject.committed_workload import RequestedWorkload, load_committed_workload, locate_requested_workload
from runner.subject.merge_bases import GateEnds, prepare_gate_ends
from runner.subject.repository import Repository
from runner.system.scratch import make_scratch_folder
from runner.workload import Workload
from runner.workload.gate_cases import CasePair, Files, list_case_pairs, list_changes


class GatePlan(Struct, frozen=True):
    """What a gate measures.

    Attributes
    ----------
    named
        The workload that the command names, as the work tree has it.
    source
        Whose workload file judges.
    """

    ends: GateEnds
    named: Workload
    files: Files
    source: JudgeSource
    changes: tuple[JudgeChange, ...]
    case_pairs: tuple[CasePair, ...]


@contextmanager
def plan_gate(
    workload: Workload,
    repository: Repository,
    base: str,
    head: str,
    *,
    name: str | None = None,
    choices: Sequence[str] = (),
    case_names: Sequence[str] = (),
) -> Iterator[GatePlan]:
    """Yield the plan of a gate of the range ``base..head``, with temporary files from its commits.

    Parameters
    ----------
    name
        What the command calls the workload.
    choices, case_names
        The cases to measure; see :func:`runner.workload.workload_lookup.choose_cases`.

    Raises
    ------
    FaultwatchError
        There is nothing to compare, or no case that matches; see :func:`prepare_gate_ends`.
    """
    with prepare_gate_ends(repository, base, head) as ends, make_scratch_folder() as scratch:
        requested = locate_requested_workload(repository, workload, name)
        if requested:
            files, source, changed = _find_workload_files(ends, requested, scratch)
        else:
            files, source, changed = Files(workload, workload, workload), JudgeSource.OUTSIDE, ()
        chosen = list_case_pairs(files, choices, case_names)
        yield GatePlan(ends, workload, files, source, changed, tuple(chosen))


def _find_workload_files(
    ends: GateEnds, requested: RequestedWorkload, scratch: Path
) -> tuple[Files, JudgeSource, tuple[JudgeChange, ...]]:
    """Find the workload file of each side, and the one by which the gate judges.

    The file at the tip of the target branch judges: the author of head chooses where their branch starts, but cannot
    change the tip.
    """
    head, committed = _find_head_workload(ends, requested, scratch)
    mistake = ""
    judge = base = None
    try:
        judge = load_committed_workload(ends.repository, ends.target, requested, scratch)
    except FaultwatchError as error:
        mistake = error.what
    if ends.base == ends.target:
        base = judge
    else:
        with suppress(FaultwatchError):
            base = load_committed_workload(ends.repository, ends.base, requested, scratch)
    if mistake:
        # It must be possible to repair the file, and somebody else has to review the repair.
        changed = JudgeChange(key="file", before=(mistake[:300],))
        return Files(head, head, head), JudgeSource.HEAD, (changed,)
    judge = judge or base
    if judge is None:
        return Files(head, head, head), JudgeSource.HEAD if committed else JudgeSource.OUTSIDE, ()
    files = Files(judge, base or judge, head)
    return files, JudgeSource.TARGET, list_changes(files)


def _find_head_workload(ends: GateEnds, requested: RequestedWorkload, scratch: Path) -> tuple[Workload, bool]:
    """Return the workload of head, and whether a commit has it: the work tree's file, if head is checked out."""
    own = load_committed_workload(ends.repository, ends.measured, requested, scratch, search_all_folders=False)
    checked_out = ends.repository.resolve("HEAD") == ends.measured
    return (requested.workload if own is None or checked_out else own), own is not None
