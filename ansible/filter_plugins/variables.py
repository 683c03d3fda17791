"""Finds the invalid variables of a host, by the argument specifications of all roles at once.

A role checks its own variables only when it begins, after other roles have changed something, and ignores a misspelt
one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

Options = dict[str, dict[str, Any]]


def read_specifications(roles: Path) -> dict[str, Options]:
    """Return the options of the argument specification of each variable, by role and variable."""
    options_by_role = {}
    for file in sorted(roles.glob("*/meta/argument_specs.yml")):
        specs = yaml.safe_load(file.read_text(encoding="utf-8"))["argument_specs"]
        options_by_role[file.parents[1].name] = specs["main"].get("options", {})
    return options_by_role


def find_wrong_variables(variables: Mapping[str, Any], roles: str) -> list[str]:
    """Return the mistakes in the variables of a host, a line for each; empty if there are none.

    Variables that are not set have the roles' defaults, so none of them is required.

    Parameters
    ----------
    roles
        The folder of the roles.
    """
    options_by_role = read_specifications(Path(roles))
    mistakes = []
    for options in options_by_role.values():
        optional = {name: {key: options[name][key] for key in options[name] if key != "required"} for name in options}
        set_variables = {name: variables[name] for name in optional if name in variables}
        mistakes += ArgumentSpecValidator(optional).validate(set_variables).error_messages
    known_names = {name for options in options_by_role.values() for name in options}
    prefixes = tuple(f"{role}_" for role in options_by_role)
    unknown_names = (name for name in variables if name.startswith(prefixes) and name not in known_names)
    return mistakes + [f"no role has a variable {name}" for name in sorted(unknown_names)]


class FilterModule:
    """The class by which Ansible finds the filters of this file."""

    def filters(self) -> dict[str, object]:
        """Return the filters by name."""
        return {"wrong_variables": find_wrong_variables}
