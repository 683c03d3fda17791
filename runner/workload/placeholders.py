"""Replaces ``{name}`` in the texts of a workload, and rejects placeholders without a value or with two meanings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from runner.contract.base import Parameter, format_parameter
from runner.errors import FaultwatchError

OWN_FOLDER_PLACEHOLDER = "{workload}"
"""The placeholder for the workload's folder, in ``[build]`` and ``[run]``."""
HOME_PLACEHOLDER = "{home}"
"""The placeholder for the home directory of the runner's user, in ``[build] environment``."""

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z0-9_.-]+)\}|[{}]")
"""A doubled brace, a placeholder with its name, or a single brace."""


def list_placeholders(text: str) -> list[str]:
    """Return the names in braces in a text."""
    return [match[1] for match in _PLACEHOLDER.finditer(text) if match[1] is not None]


def fill_placeholders(text: str, parameters: dict[str, Parameter], *, location: str = "workload") -> str:
    """Return a text in which each ``{name}`` is replaced by the value of the parameter; ``{{`` and ``}}`` are braces.

    Raises
    ------
    FaultwatchError
        A name has no value, or a brace is neither doubled nor part of a placeholder.
    """

    def get_replacement(match: re.Match[str]) -> str:
        """Return a single brace for a doubled one, or the value of the parameter that a placeholder names."""
        if match[0] in {"{{", "}}"}:
            return match[0][0]
        if match[1] is None:  # The match is a single brace.
            raise FaultwatchError(
                f"{location}: {text!r} contains a single {match[0]!r}", "write {{ and }} for literal braces"
            )
        if match[1] not in parameters:
            parameter_names = ", ".join(sorted(parameters.keys() - {"workload"})) or "none"
            raise FaultwatchError(
                f"{location}: {text!r} uses the parameter {match[1]!r}, which the matrix does not have",
                f"its parameters: {parameter_names}",
            )
        return format_parameter(parameters[match[1]])

    return _PLACEHOLDER.sub(get_replacement, text)


def replace_placeholder(text: str, name: str, value: str) -> str:
    """Return a text in which ``{name}`` is replaced by a literal value; all other placeholders and braces stay."""
    escaped_value = escape_braces(value)
    return _PLACEHOLDER.sub(lambda match: escaped_value if match[1] == name else match[0], text)


def escape_braces(value: str) -> str:
    """Escape braces in a value, because ``{name}`` is a placeholder."""
    return value.replace("{", "{{").replace("}", "}}")


def refuse_unknown_placeholders(texts: Iterable[str], matrix: Mapping[str, Sequence[Parameter]], file: Path) -> None:
    """Raise if a placeholder has no values in the matrix. Called before anything is built.

    Raises
    ------
    FaultwatchError
        A name has no value.
    """
    # The result is not used, so any point of the matrix will do.
    any_point: dict[str, Parameter] = {name: values[0] for name, values in matrix.items()}
    for text in texts:
        fill_placeholders(text, any_point | {"workload": ""}, location=str(file))


def refuse_ambiguous_folder(matrix: Mapping[str, Sequence[Parameter]], file: Path, *, is_repository: bool) -> None:
    """Raise if ``{workload}`` would be ambiguous, or would be a whole repository.

    Raises
    ------
    FaultwatchError
        The matrix has a parameter ``workload``, or the folder is the top of a repository.
    """
    if "workload" in matrix:
        raise FaultwatchError(
            f"{file}: [matrix] workload: {OWN_FOLDER_PLACEHOLDER} already stands for the workload's own folder",
            "give the parameter another name",
        )
    if is_repository:
        raise FaultwatchError(
            f"{file}: {OWN_FOLDER_PLACEHOLDER} stands for the folder of this file, but that is a whole repository",
            "move the file and everything that it needs to a separate folder, such as faultwatch/",
        )
