"""Lists the changes of the workload file in head: a change of how the gate judges needs a reviewer's consent."""

import shlex
from collections.abc import Mapping

from runner.contract.base import Parameter, format_parameter
from runner.contract.gate import JudgeChange
from runner.workload.definition import Workload
from runner.workload.gate_cases import WorkloadFiles
from runner.workload.parameter_matrix import list_cases, map_points

_MAX_CHARACTERS, _MAX_ITEMS, _MAX_CHANGES = 300, 100, 1000
"""The limits of a gate's report: characters of a value, values of a key, and number of keys."""
_DEFAULT_VALUE = "default"
"""Stands in messages for a value that a file does not set."""
_RECIPE_TABLES = ("build", "folder", "load", "run", "server")
"""The tables that do not affect the judgement; their changes are listed last."""

_COMMAND_KEYS = {"command", "ready_command", "stop_command", "fill"}
"""Keys of these tables that contain a command."""


def list_workload_file_changes(files: WorkloadFiles) -> tuple[JudgeChange, ...]:
    """Return the keys of the workload file that head changes: those that differ from base and from the judging file.

    Changes of the target branch since base therefore do not count as changes of head.
    """
    documents = [_collect_keys(workload) for workload in (files.base, files.judge, files.head)]
    base_keys, judge_keys, head_keys = documents
    keys = dict.fromkeys(key for document in documents for key in document)
    changes = [
        JudgeChange(
            key=key[:_MAX_CHARACTERS], before=_list_items(judge_keys.get(key)), after=_list_items(head_keys.get(key))
        )
        for key in keys
        if head_keys.get(key) not in (base_keys.get(key), judge_keys.get(key))
    ]
    base_points, judge_points = map_points(list_cases(files.base)), map_points(list_cases(files.judge))
    head_points = map_points(list_cases(files.head))
    removed_points = [
        _format_point(point) for key, point in judge_points.items() if key in base_points and key not in head_points
    ]
    added_points = [
        _format_point(point) for key, point in head_points.items() if key not in base_points and key not in judge_points
    ]
    if removed_points or added_points:
        changes.append(JudgeChange(key="matrix", before=_list_items(removed_points), after=_list_items(added_points)))
    other_digests = {workload.own_digest for workload in (files.base, files.judge) if workload.uses_own_folder}
    if files.head.uses_own_folder and files.head.own_digest not in other_digests:
        changes.append(JudgeChange(key="folder", before=(), after=()))
    judgement_first = sorted(changes, key=lambda change: change.key.startswith(_RECIPE_TABLES))
    return tuple(judgement_first[:_MAX_CHANGES])


def _collect_keys(workload: Workload) -> dict[str, str | list[str]]:
    """Return the values by which a workload is judged, built and run, by key."""
    general_table, metrics = workload.workload, workload.metrics
    recipes = {
        "run": workload.run.model_dump(mode="json"),
        "build": workload.build.model_dump(mode="json", exclude={"needs", "timeout"}),
    }
    if workload.server and workload.load:
        recipes["server"] = workload.server.model_dump(mode="json", exclude={"ready_timeout", "stop_timeout"})
        recipes["load"] = workload.load.model_dump(mode="json")
    document: dict[str, str | list[str]] = {
        "workload.samples": str(general_table.samples),
        "workload.max_samples": _DEFAULT_VALUE if general_table.max_samples is None else str(general_table.max_samples),
        "workload.unmeasured": general_table.unmeasured,
        "workload.timeout": f"{general_table.timeout:g}",
        "metrics.events": list(metrics.events),
        "metrics.judge": list(metrics.judge),
        **{f"metrics.precision.{name}": f"{percent:g} %" for name, percent in metrics.precision.items()},
        **{f"metrics.budget.{name}": str(budget) for name, budget in metrics.budget.items()},
    }
    for table, keys in recipes.items():
        for key, value in keys.items():
            if isinstance(value, dict):
                document |= {f"{table}.{key}.{name}": text for name, text in value.items()}
            elif key in _COMMAND_KEYS:
                document[f"{table}.{key}"] = shlex.join(value or ())
            elif value is not None:
                document[f"{table}.{key}"] = list(value) if isinstance(value, list) else str(value)
    return document


def _list_items(value: str | list[str] | None) -> tuple[str, ...]:
    """Return the value of a key in the format of a report: a tuple of texts, which is empty without a value."""
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    return tuple(item[:_MAX_CHARACTERS] for item in items[:_MAX_ITEMS])


def _format_point(point: Mapping[str, Parameter]) -> str:
    """Return the parameters of a case as text."""
    return ",".join(f"{name}={format_parameter(value)}" for name, value in sorted(point.items())) or "the only case"
