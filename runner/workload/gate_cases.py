"""Pairs the cases of base and head in a gate, and lists what head changes in the workload file.

The file of the target branch says how the gate judges, so that a pull request cannot weaken its own gate. Base and head
are each built and run according to their own file.
"""

import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from runner.contract.base import Parameter, format_parameter
from runner.contract.gate import MAX_CASES, JudgeChange
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.workload.definition import Workload
from runner.workload.parameter_matrix import choose_points, list_cases
from runner.workload.workload_lookup import find_named_cases

_MAX_CHARACTERS = 300
_MAX_ITEMS = 100
_MAX_CHANGES = 1000
_DEFAULT_VALUE = "default"
"""What a message calls a value that a file does not set."""


class WorkloadFiles(Struct, frozen=True):
    """The workload of each side of a gate, and of the branch into which head is to be merged, which judges."""

    judge: Workload
    base: Workload
    head: Workload


class CasePair(Struct, frozen=True):
    """A case of a comparison, and by which workload each side is built and run.

    Attributes
    ----------
    base
        None if base cannot run the case, because head adds its parameters.
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
        return Case(workload=workload.name, definition=workload.definition, parameters=dict(self.parameters))


def combine_with_judging_file(own_workload: Workload, judging_workload: Workload) -> Workload:
    """Return a workload that is built and run by its own file, and measured and judged by another file."""
    if (own_workload.workload, own_workload.metrics) == (judging_workload.workload, judging_workload.metrics):
        return own_workload
    own_tables = {
        name: getattr(own_workload, name) for name in ("run", "build", "matrix", "include", "exclude", "path")
    }
    return Workload(workload=judging_workload.workload, metrics=judging_workload.metrics, **own_tables)


def list_case_pairs(
    files: WorkloadFiles, parameter_choices: Sequence[str] = (), names: Sequence[str] = ()
) -> list[CasePair]:
    """Return the cases of a gate: all cases of the judging file, then those that head adds.

    Parameters
    ----------
    parameter_choices, names
        Only those that match; see :func:`runner.workload.workload_lookup.choose_cases`.

    Raises
    ------
    FaultwatchError
        A choice or a name matches no case, or there are more cases than a gate may have.
    """
    judge = files.judge
    base, head = combine_with_judging_file(files.base, judge), combine_with_judging_file(files.head, judge)
    judge_points, base_points, head_points = (_map_points(list_cases(workload)) for workload in (judge, base, head))
    judged_points = {**base_points, **judge_points}
    case_pairs = [
        CasePair(base if key in base_points else judge, head if key in head_points else judge, point)
        for key, point in judge_points.items()
    ]
    added = [
        CasePair(base if point.keys() == base.matrix.keys() else None, head, point, added=True)
        for key, point in head_points.items()
        if key not in judged_points
    ]
    chosen_pairs = _choose_case_pairs(judge, [*case_pairs, *added], parameter_choices, names)
    if len(chosen_pairs) > MAX_CASES:
        raise FaultwatchError(
            f"{judge.name} has {len(chosen_pairs):,} cases, and a gate measures {MAX_CASES:,} at most",
            "choose some with --set or --case",
        )
    return chosen_pairs


def _choose_case_pairs(
    judge: Workload, case_pairs: list[CasePair], parameter_choices: Sequence[str], names: Sequence[str]
) -> list[CasePair]:
    """Return the pairs of cases that the options of the command select."""
    points = {
        _make_key(point)
        for point in choose_points(judge, [dict(case_pair.parameters) for case_pair in case_pairs], parameter_choices)
    }
    case_pairs = [case_pair for case_pair in case_pairs if _make_key(case_pair.parameters) in points]
    case_names = {
        case.name for case in find_named_cases(judge, [case_pair.head_case for case_pair in case_pairs], names)
    }
    return [case_pair for case_pair in case_pairs if case_pair.head_case.name in case_names]


def list_changes(files: WorkloadFiles) -> tuple[JudgeChange, ...]:
    """Return the keys of the workload file that head changes: those that differ from base and from the judging file.

    Changes of the target branch since base therefore do not count as changes of head.
    """
    documents = [_collect_keys(workload) for workload in (files.base, files.judge, files.head)]
    base_keys, judge_keys, head_keys = documents
    keys = dict.fromkeys(key for document in documents for key in document)
    changed = [
        JudgeChange(
            key=key[:_MAX_CHARACTERS], before=_list_items(judge_keys.get(key)), after=_list_items(head_keys.get(key))
        )
        for key in keys
        if head_keys.get(key) not in (base_keys.get(key), judge_keys.get(key))
    ]
    points = [_map_points(list_cases(workload)) for workload in (files.base, files.judge, files.head)]
    removed_points = [
        _show_value(point) for key, point in points[1].items() if key in points[0] and key not in points[2]
    ]
    added_points = [
        _show_value(point) for key, point in points[2].items() if key not in points[0] and key not in points[1]
    ]
    if removed_points or added_points:
        changed.append(JudgeChange(key="matrix", before=_list_items(removed_points), after=_list_items(added_points)))
    if files.head.uses_own_folder and files.head.own_digest not in {
        workload.own_digest for workload in (files.base, files.judge) if workload.uses_own_folder
    }:
        changed.append(JudgeChange(key="folder", before=(), after=()))
    return tuple(sorted(changed, key=lambda change: change.key.startswith(_RECIPE_TABLES))[:_MAX_CHANGES])


_RECIPE_TABLES = ("build", "folder", "run")
"""The tables that do not affect the judgement; their changes are listed last."""


class _Points(dict[tuple[tuple[str, str], ...], Mapping[str, Parameter]]):
    """Points of a matrix, by their parameters as text."""


def _map_points(cases: Sequence[Case]) -> _Points:
    return _Points({_make_key(case.parameters): case.parameters for case in cases})


def _make_key(point: Mapping[str, Parameter]) -> tuple[tuple[str, str], ...]:
    """Return a point of the matrix in a form that can be compared."""
    return tuple(sorted((name, format_parameter(value)) for name, value in point.items()))


def _collect_keys(workload: Workload) -> dict[str, str | list[str]]:
    """Return the values that decide how a workload is judged, built and run, by key."""
    general, metrics = workload.workload, workload.metrics
    recipes = {
        "run": workload.run.model_dump(mode="json"),
        "build": workload.build.model_dump(mode="json", exclude={"needs", "timeout"}),
    }
    document: dict[str, str | list[str]] = {
        "workload.samples": str(general.samples),
        "workload.max_samples": _DEFAULT_VALUE if general.max_samples is None else str(general.max_samples),
        "workload.unmeasured": general.unmeasured,
        "workload.timeout": f"{general.timeout:g}",
        "metrics.events": list(metrics.events),
        "metrics.judge": list(metrics.judge),
        **{f"metrics.precision.{name}": f"{percent:g} %" for name, percent in metrics.precision.items()},
        **{f"metrics.budget.{name}": str(budget) for name, budget in metrics.budget.items()},
    }
    for table, keys in recipes.items():
        for key, value in keys.items():
            if isinstance(value, dict):
                document |= {f"{table}.{key}.{name}": text for name, text in value.items()}
            elif key == "command":
                document[f"{table}.command"] = shlex.join(value or ())
            elif value is not None:
                document[f"{table}.{key}"] = list(value) if isinstance(value, list) else str(value)
    return document


def _list_items(value: str | list[str] | None) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(item[:_MAX_CHARACTERS] for item in items[:_MAX_ITEMS])


def _show_value(point: Mapping[str, Parameter]) -> str:
    return ",".join(f"{name}={format_parameter(value)}" for name, value in sorted(point.items())) or "the only case"
