"""Finds the differences between two environments, as the settings that ``faultwatch bisect --settings`` searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from runner.campaigns.setting_search import PARAMETER_PREFIX, SETTINGS_PER_RUN, VARIABLE_PREFIX, is_settable_per_run
from runner.cli.arguments import build_model
from runner.cli.formatting import format_quantity
from runner.contract.base import Parameter, format_parameter
from runner.contract.commit_search import NothingToFind
from runner.contract.level import compute_median
from runner.contract.number_text import capitalize_first
from runner.contract.report import Case, Environment, Outcome, Report
from runner.contract.setting_search import FoundSettings, MeasureSettings, SettingChange, SettingSearch
from runner.errors import FaultwatchError
from runner.process_state.memory_group import MemoryGroup
from runner.workload import Workload
from runner.workload.allocators import ALLOCATOR_VARIABLES
from runner.workload.bound_case import parse_size

DERIVED_SETTINGS = frozenset({"allocator"})
"""Settings that are consequences of a variable, or of the library that it loads."""


class Difference(Struct, frozen=True):
    """The differences between two environments."""

    settings: tuple[SettingChange, ...]
    """The settings that can be changed for a single run."""
    common_variables: Mapping[str, str]
    """The variables with the same value in both environments."""
    fixed_settings: tuple[SettingChange, ...]
    """The settings that only an administrator can change, or that the runner fixes. They keep this host's values."""

    @property
    def unsearched_remark(self) -> str:
        """A remark, in one line, that names the settings which are not searched; empty if there are none."""
        settings = ", ".join(
            f"{setting.name} ({_show_value(setting.before)} → {_show_value(setting.after)})"
            for setting in self.fixed_settings
        )
        return f"not searched, because only the host's administrator can set them: {settings}" if settings else ""


def find_differences(
    before: Mapping[str, str], after: Mapping[str, str], workload: Workload, excluded_settings: Iterable[str] = ()
) -> Difference:
    """Return the differences between two environments, which include their case's parameters as ``parameter.NAME``.

    Variables that the workload itself sets are left out, because they are the same in all its runs.

    Parameters
    ----------
    excluded_settings
        Settings that the user has excluded from the search.
    """
    workload_variables = {f"{VARIABLE_PREFIX}{name}" for name in workload.run.environment}
    if workload.run.allocator != "glibc":  # the workload chooses another allocator by variables
        for variables in ALLOCATOR_VARIABLES.values():
            workload_variables |= {f"{VARIABLE_PREFIX}{name}" for name in variables}
    skipped = {*excluded_settings, *workload_variables, *DERIVED_SETTINGS}
    names = sorted({*before, *after} - skipped)
    changes = [SettingChange(name=name, before=before.get(name), after=after.get(name)) for name in names]
    changes = [setting for setting in changes if setting.before != setting.after]
    return Difference(
        settings=tuple(setting for setting in changes if is_settable_per_run(setting.name)),
        common_variables={
            name: before[name]
            for name in names
            if name.startswith(VARIABLE_PREFIX) and before.get(name) == after.get(name)
        },
        fixed_settings=tuple(setting for setting in changes if not is_settable_per_run(setting.name)),
    )


def parse_change(text: str) -> SettingChange:
    """Parse ``NAME=BEFORE..AFTER``; an empty side means that the setting is not set.

    Raises
    ------
    FaultwatchError
        The text does not have that form, or the setting cannot be changed for a single run.
    """
    name, separator, values = text.partition("=")
    before, dots, after = values.partition("..")
    if not separator or not dots or before == after:
        raise FaultwatchError(f"--change {text!r} does not have the form NAME=BEFORE..AFTER")
    if not is_settable_per_run(name):
        raise FaultwatchError(
            f"--change {text!r}: {name} cannot be set for a single run",
            "settings that can be set: variable.NAME, parameter.NAME, build.NAME, "
            f"{', '.join(sorted(SETTINGS_PER_RUN))}",
        )
    if name == MemoryGroup.setting:
        before, after = (str(parse_size(side)) if side not in {"", "none"} else "none" for side in (before, after))
    return build_model(SettingChange, name=name, before=before or None, after=after or None)


def split_change(text: str) -> tuple[str, str]:
    """Split ``BEFORE..AFTER``, each the path of a file or a run id.

    A path may contain two dots too, so the text is split where both sides are existing files, or else at the first
    dots.

    Raises
    ------
    FaultwatchError
        The text does not have two sides.
    """
    indices = [index for index in range(1, len(text) - 2) if text[index : index + 2] == ".."]
    splits = [(text[:index], text[index + 2 :]) for index in indices]
    existing_splits = [split for split in splits if all(Path(side).exists() for side in split)]
    if not splits:
        raise FaultwatchError(f"--settings {text!r} does not have the form BEFORE..AFTER")
    return (existing_splits or splits)[0]


def list_parameters(source: Mapping[str, Parameter]) -> dict[str, str]:
    """Return the parameters of a case as settings, named ``parameter.NAME``."""
    return {f"{PARAMETER_PREFIX}{name}": format_parameter(value) for name, value in source.items()}


def collect_settings(environment: Environment, case: Case | None) -> dict[str, str]:
    """Return the settings of an environment together with the parameters of the case that ran in it."""
    return environment.settings | list_parameters(case.parameters if case else {})


def describe_run(state: SettingSearch, report: Report, name: str) -> str:
    """Return a line with the result of a run and the settings that were changed."""
    changed_settings = state.answer.changed if isinstance(state.answer, MeasureSettings) else ()
    outcome = "could not be measured"
    if report.outcome is Outcome.MEASURED:
        outcome = format_quantity(name, compute_median(report.values(name)))
    return f"{outcome}  with {', '.join(changed_settings) or 'nothing'} changed"


def describe_result(search: SettingSearch, difference: Difference, name: str) -> list[str]:
    """Return the result of a search as lines; none if the search has not ended.

    Parameters
    ----------
    name
        The metric that moved.
    """
    if isinstance(search.answer, NothingToFind):
        remark = capitalize_first(difference.unsearched_remark)
        return [f"{search.answer.sentence} {remark}." if remark else search.answer.sentence]
    if not isinstance(search.answer, FoundSettings):
        return []
    changes = {setting.name: setting for setting in difference.settings}
    before, after = search.answer.before, search.answer.after
    lines = [f"{name}: {format_quantity(name, before, after)} → {format_quantity(name, after, before)}, caused by:"]
    for setting in search.answer.settings:
        line = f"  {setting}: {_show_value(changes[setting].before)} → {_show_value(changes[setting].after)}"
        value_without = search.answer.values_without.get(setting)
        # If there is only one cause, the value without it is the value before.
        if value_without is not None and len(search.answer.settings) > 1:
            line += f"; without it {format_quantity(name, value_without)}"
        lines.append(line)
    return lines


def build_document(search: SettingSearch, difference: Difference) -> dict[str, Any]:
    """Return the search and the settings that were not searched, in the form that ``--json`` prints."""
    fixed_settings = [setting.model_dump(mode="json") for setting in difference.fixed_settings]
    return search.model_dump(mode="json") | {"not_searched": fixed_settings}


def _show_value(value: str | None) -> str:
    return "not set" if value is None else value
