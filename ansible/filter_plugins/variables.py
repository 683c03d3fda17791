"""What is wrong with the variables of a host, by the argument specifications of all roles at once.

A role looks at its own variables only when its turn comes, after others changed something; and a misspelt one would be
passed over without a word.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

Options = dict[str, dict[str, Any]]


def read_specifications(roles: Path) -> dict[str, Options]:
    """Return role → variable → what its argument specification says of it."""
    found = {}
    for file in sorted(roles.glob("*/meta/argument_specs.yml")):
        specs = yaml.safe_load(file.read_text(encoding="utf-8"))["argument_specs"]
        found[file.parents[1].name] = specs["main"].get("options", {})
    return found


def find_wrong_variables(variables: Mapping[str, Any], roles: str) -> list[str]:
    """Return what is wrong with the variables of a host, a line each; empty if nothing is.

    Variables that are not set have the roles' defaults, so none of them is required.

    Parameters
    ----------
    roles
        The folder of the roles.
    """
    known = read_specifications(Path(roles))
    wrong = []
    for options in known.values():
        optional = {name: {key: options[name][key] for key in options[name] if key != "required"} for name in options}
        given = {name: variables[name] for name in optional if name in variables}
        wrong += ArgumentSpecValidator(optional).validate(given).error_messages
    every = {name for options in known.values() for name in options}
    strange = (name for name in variables if name.startswith(tuple(f"{role}_" for role in known)) and name not in every)
    return wrong + [f"no role has a variable {name}" for name in sorted(strange)]


class FilterModule:
    """What Ansible looks for."""

    def filters(self) -> dict[str, object]:
        """Return the filters by name."""
        return {"wrong_variables": find_wrong_variables}
