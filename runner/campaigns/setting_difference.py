"""Finds the differences between two environments, as the settings that ``faultwatch bisect --settings`` searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from runner.campaigns.setting_search import VARIABLE_PREFIX, is_settable_per_run
from runner.contract.report import Case, Environment
from runner.contract.setting_search import SettingChange, list_parameters
from runner.workload import Workload
from runner.workload.allocators import ALLOCATOR_VARIABLES

_DERIVED_SETTINGS = frozenset({"allocator"})
"""Settings that are consequences of a variable, or of the library that it loads."""


class Difference(Struct, frozen=True):
    """The differences between two environments."""

    settings: tuple[SettingChange, ...]
    """The settings that can be changed for a single run."""
    common_variables: Mapping[str, str]
    """The variables with the same value in both environments."""
    fixed_settings: tuple[SettingChange, ...]
    """The settings that a single run cannot change: only an administrator can, or the runner fixes them, or nobody can,
    such as the model of the processor. They keep this host's values."""

    @property
    def unsearched_remark(self) -> str:
        """A remark, in one line, that names the settings which are not searched; empty if there are none."""
        settings = ", ".join(
            f"{setting.name} ({show_value(setting.before)} → {show_value(setting.after)})"
            for setting in self.fixed_settings
        )
        if not settings:
            return ""
        return f"left out of the search, because a single run cannot change them: {settings}"


def find_differences(
    before: Mapping[str, str], after: Mapping[str, str], workload: Workload, excluded_settings: Iterable[str] = ()
) -> Difference:
    """Return the differences between two environments, which include their case's parameters as ``parameter.NAME``.

    Variables that the workload itself sets are left out, because they are the same in all its runs.

    Parameters
    ----------
    before, after
        The values of the older and of the newer environment, by the name of the setting.
    excluded_settings
        Settings that the user has excluded from the search.
    """
    workload_variables = {f"{VARIABLE_PREFIX}{name}" for name in workload.run.environment}
    if workload.run.allocator != "glibc":  # the workload chooses another allocator by variables
        for variables in ALLOCATOR_VARIABLES.values():
            workload_variables |= {f"{VARIABLE_PREFIX}{name}" for name in variables}
    skipped_settings = {*excluded_settings, *workload_variables, *_DERIVED_SETTINGS}
    names = sorted({*before, *after} - skipped_settings)
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


def collect_settings(environment: Environment, case: Case | None) -> dict[str, str]:
    """Return the settings of an environment together with the parameters of the case that ran in it."""
    return environment.settings | list_parameters(case.parameters if case else {})


def show_value(value: str | None) -> str:
    """Return the value of a setting as text."""
    return "not set" if value is None else value
