"""Plans a gate: which commits it compares, by which workload files, and which cases it measures."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from runner.contract.gate import JudgeChange, JudgeSource
from runner.subject.committed_workload import locate_requested_workload
from runner.subject.judging_file import find_workload_files
from runner.subject.merge_bases import GateEnds, prepare_gate_ends
from runner.subject.repository import Repository
from runner.system.scratch import make_scratch_folder
from runner.workload import Workload
from runner.workload.gate_cases import CasePair, WorkloadFiles, list_case_pairs


class GatePlan(Struct, frozen=True):
    """What a gate measures.

    Attributes
    ----------
    named_workload
        The workload that the command names, as it is in the work tree.
    judge_source
        The origin of the workload file that judges.
    """

    ends: GateEnds
    named_workload: Workload
    files: WorkloadFiles
    judge_source: JudgeSource
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
    parameter_choices: Sequence[str] = (),
    case_names: Sequence[str] = (),
) -> Iterator[GatePlan]:
    """Plan a gate of the range ``base..head``; yield the plan while temporary files of its commits exist.

    Parameters
    ----------
    name
        The workload as the command names it; None if it was left out.
    parameter_choices, case_names
        The cases to measure; see :func:`runner.workload.case_choice.choose_cases`.

    Raises
    ------
    FaultwatchError
        There is nothing to compare, or no case matches; see :func:`prepare_gate_ends`.
    """
    with prepare_gate_ends(repository, base, head) as ends, make_scratch_folder() as scratch:
        requested_workload = locate_requested_workload(repository, workload, name)
        if requested_workload:
            files, judge_source, changes = find_workload_files(ends, requested_workload, scratch)
        else:
            # The workload is outside of the repository, so no commit can change how it is judged.
            files = WorkloadFiles(judge=workload, base=workload, head=workload)
            judge_source, changes = JudgeSource.OUTSIDE, ()
        case_pairs = list_case_pairs(files, parameter_choices, case_names)
        yield GatePlan(ends, workload, files, judge_source, changes, tuple(case_pairs))
