"""Finds the searched settings that had their "after" values in a run."""

from __future__ import annotations

from runner.contract import Case, Environment
from runner.contract.setting_search import SettingSearchRequest, list_parameters

_FOLLOWING_SETTINGS = {"allocator": "variable.LD_PRELOAD"}
"""For each setting whose value is determined by another setting: this other setting."""


def find_changed_settings(search: SettingSearchRequest, environment: Environment, case: Case) -> frozenset[str] | None:
    """Return the searched settings that had their "after" values in a run; None if any other setting differs."""
    if (case.workload, case.definition) != (search.case.workload, search.case.definition):
        return None
    searched_settings = {setting.name: setting for setting in search.settings}
    before, actual_settings = _list_all_settings(search.environment, search.case), _list_all_settings(environment, case)
    changed_names = set()
    for name in before.keys() | actual_settings.keys():
        value = actual_settings.get(name)
        if name in searched_settings:
            if value == searched_settings[name].after:
                changed_names.add(name)
            elif value != searched_settings[name].before:
                return None
        # A setting that is not searched may differ only if a searched setting determines it.
        elif value != before.get(name) and _FOLLOWING_SETTINGS.get(name) not in searched_settings:
            return None
    return frozenset(changed_names)


def _list_all_settings(environment: Environment, case: Case) -> dict[str, str]:
    """Return the settings of an environment together with the parameters of the case."""
    return environment.settings | list_parameters(case.parameters)
