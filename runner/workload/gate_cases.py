"""Pairs the cases of base and head in a gate.

The gate judges by the workload file of the target branch, so that a pull request cannot weaken its own gate. Base and
head are each built and run according to their own file.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from runner.contract.base import Parameter
from runner.contract.gate import MAX_CASES
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.case_choice import find_named_cases
from runner.workload.definition import Workload
from runner.workload.parameter_matrix import choose_points, list_cases, make_point_key, map_points


class WorkloadFiles(Struct, frozen=True):
    """The workloads of both sides of a gate, and that of the judging file."""

    judge: Workload
    base: Workload
    head: Workload


class CasePair(Struct, frozen=True):
    """A case of a comparison, and the workloads by which the sides are built and run.

    Attributes
    ----------
    base
        The workload of base; None if base cannot run the case, because head adds its parameters.
    added
        Whether head adds the case.
    """

    base: Workload | None
    head: Workload
    parameters: Mapping[str, Parameter]
    added: bool = False

    @property
    def base_case(self) -> Case:
        """The case of base."""
        return self._make_case(self.base or self.head)

    @property
    def head_case(self) -> Case:
        """The case of head."""
        return self._make_case(self.head)

    @property
    def is_same_recipe(self) -> bool:
        """Whether both sides are built and run in the same way."""
        return self.base is not None and self.base_case == self.head_case

    def _make_case(self, workload: Workload) -> Case:
        """Return the case at this point of a workload's matrix."""
        return Case(workload=workload.name, definition=workload.definition, parameters=dict(self.parameters))


def combine_with_judging_file(own_workload: Workload, judging_workload: Workload) -> Workload:
    """Return a workload that is built and run by its own file, but measured and judged by the judging file."""
    if (own_workload.workload, own_workload.metrics) == (judging_workload.workload, judging_workload.metrics):
        return own_workload
    fields = {name: getattr(own_workload, name) for name in Workload.model_fields}
    return Workload(**fields | {"workload": judging_workload.workload, "metrics": judging_workload.metrics})


def list_case_pairs(
    files: WorkloadFiles, parameter_choices: Sequence[str] = (), names: Sequence[str] = ()
) -> list[CasePair]:
    """Return the cases of a gate: all cases of the judging file, then those that head adds.

    The judging file is the workload file of the branch into which head is to be merged.

    Parameters
    ----------
    parameter_choices, names
        The options ``--set`` and ``--case``, which select cases; see
        :func:`runner.workload.case_choice.choose_cases`.

    Raises
    ------
    FaultwatchError
        A choice or a name matches no case, or there are more cases than a gate may have.
    """
    judge = files.judge
    base, head = combine_with_judging_file(files.base, judge), combine_with_judging_file(files.head, judge)
    judge_points = map_points(list_cases(judge))
    base_points, head_points = map_points(list_cases(base)), map_points(list_cases(head))
    known_points = {**base_points, **judge_points}
    case_pairs = [
        # If a side's own file does not have the case, the side is built and run by the judging file.
        CasePair(
            base=base if key in base_points else judge,
            head=head if key in head_points else judge,
            parameters=point,
        )
        for key, point in judge_points.items()
    ]
    added_pairs = [
        # Base can run an added case only if it has all of its parameters.
        CasePair(base=base if point.keys() == base.matrix.keys() else None, head=head, parameters=point, added=True)
        for key, point in head_points.items()
        if key not in known_points
    ]
    chosen_pairs = _choose_case_pairs(judge, [*case_pairs, *added_pairs], parameter_choices, names)
    if len(chosen_pairs) > MAX_CASES:
        raise FaultwatchError(
            f"{judge.name} has {len(chosen_pairs):,} cases, but a gate measures at most {MAX_CASES:,}",
            "choose some with --set or --case",
        )
    return chosen_pairs


def _choose_case_pairs(
    judge: Workload, case_pairs: list[CasePair], parameter_choices: Sequence[str], names: Sequence[str]
) -> list[CasePair]:
    """Return the pairs of cases that the options of the command select."""
    points = {
        make_point_key(point)
        for point in choose_points(judge, [dict(case_pair.parameters) for case_pair in case_pairs], parameter_choices)
    }
    case_pairs = [case_pair for case_pair in case_pairs if make_point_key(case_pair.parameters) in points]
    case_names = {
        case.name for case in find_named_cases(judge, [case_pair.head_case for case_pair in case_pairs], names)
    }
    return [case_pair for case_pair in case_pairs if case_pair.head_case.name in case_names]
