"""Applies a remedy to a workload: changes settings of its file, but keeps its cases."""

from collections.abc import Iterable, Mapping
from typing import Any

from runner.errors import FaultwatchError
from runner.process_state.huge_pages import CHOICES
from runner.workload.allocators import ALLOCATOR_VARIABLES
from runner.workload.assignments import parse_assignments
from runner.workload.definition import Workload
from runner.workload.placeholders import escape_braces, replace_placeholder

VARIABLE_PREFIX = "env."
_FIELDS_WITH_PLACEHOLDERS = {
    "run": ("command", "environment", "allocator", "page_cache", "files", "processes", "memory_limit", "huge_pages"),
    "server": ("command", "ready_command", "stop_command"),
    "load": ("command", "fill"),
}
"""By table of the workload file: the keys whose values a parameter of the matrix can change."""


def parse_settings(assignments: Iterable[str]) -> dict[str, str]:
    """Parse ``--with NAME=VALUE`` arguments.

    Raises
    ------
    FaultwatchError
        An argument does not have this form.
    """
    return parse_assignments("--with", assignments, r".+")


def apply_remedy(workload: Workload, settings: Mapping[str, str]) -> Workload:
    """Return a workload whose cases run with other settings, but keep their names and parameters.

    Parameters
    ----------
    settings
        Values by setting: ``allocator``; ``thp`` (never, madvise or always); ``env.NAME`` for a variable of the
        program; or the name of a parameter of the workload's matrix.

    Raises
    ------
    FaultwatchError
        There is no such setting, or the value is not allowed.
    """
    # Collect the values that a remedy can change, by table and key.
    tables: dict[str, Any] = {}
    content: dict[str, dict[str, Any]] = {}
    for table_name, keys in _FIELDS_WITH_PLACEHOLDERS.items():
        table = getattr(workload, table_name)
        if table is not None:
            tables[table_name] = table
            content[table_name] = {key: getattr(table, key) for key in keys}
    # Change these values.
    run = content["run"]
    for name, value in settings.items():
        if name.startswith(VARIABLE_PREFIX) and name != VARIABLE_PREFIX:
            run["environment"] = {**run["environment"], name.removeprefix(VARIABLE_PREFIX): escape_braces(value)}
        elif name == "allocator":
            run["allocator"] = _require_choice(name, value, tuple(ALLOCATOR_VARIABLES))
        elif name == "thp":
            run["huge_pages"] = _require_choice(name, value, tuple(CHOICES))
        elif name in workload.matrix:
            for values in content.values():
                values.update({key: _replace_parameter(old_value, name, value) for key, old_value in values.items()})
        else:
            setting_names = ", ".join(("allocator", "thp", "env.NAME", *workload.matrix))
            raise FaultwatchError(f"--with {name}: there is no such setting", f"known settings: {setting_names}")
    # Set only the changed keys: a set key counts as written in the file, and a server must not have all of them.
    new_tables = {}
    for table_name, table in tables.items():
        changes = {key: value for key, value in content[table_name].items() if value != getattr(table, key)}
        new_tables[table_name] = table.model_copy(update=changes)
    return workload.model_copy(update=new_tables)  # with the cached definition, so that the cases stay the same


def _require_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return the value of a setting, after checking that it is one of the choices."""
    if value not in choices:
        raise FaultwatchError(
            f"--with {name}={value}: {value!r} is not a known value", f"known values: {', '.join(choices)}"
        )
    return value


def _replace_parameter(content: Any, name: str, value: str) -> Any:
    """Replace a parameter by a value wherever it occurs."""
    if isinstance(content, str):
        return replace_placeholder(content, name, value)
    if isinstance(content, tuple):
        return tuple(_replace_parameter(part, name, value) for part in content)
    if isinstance(content, dict):
        return {key: _replace_parameter(part, name, value) for key, part in content.items()}
    return content
