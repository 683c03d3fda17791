"""Joins one of our scripts with the modules that it imports, because browsers load no modules from a disk.

Our modules import and export by name, with one statement per line. Each becomes a function that returns its exports.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

_IMPORT = re.compile(r'^import \{(?P<names>[^}]*)\} from "(?P<file>[^"]+)";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?P<kept>(?:async )?(?:function|const|class) (?P<name>\w+))", re.MULTILINE)
_UNSUPPORTED_STATEMENT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


class UnknownModuleSyntaxError(Exception):
    """One of our modules imports or exports in a way that cannot be joined."""


def join_modules(file: str, read_file: Callable[[str], str]) -> str:
    """Return one classic script that does the same as a module and its imports.

    Parameters
    ----------
    file
        The path of the module.
    read_file
        Returns the source of a module by its path.

    Raises
    ------
    UnknownModuleSyntaxError
        If a module imports or exports in a way that is not supported.
    """
    functions: dict[str, str] = {}
    _add_module(file, read_file, functions, ())
    return "(() => {\n" + "".join(functions.values()) + "})();\n"


def _add_module(
    file: str, read_file: Callable[[str], str], functions: dict[str, str], importers: tuple[str, ...]
) -> None:
    """Add a module after the modules that it imports; ``importers`` is the chain of modules that lead to it."""
    if file in functions:
        return
    if file in importers:
        raise UnknownModuleSyntaxError(f"{file} imports itself")
    source = read_file(file)
    imported_names = []
    for match in _IMPORT.finditer(source):
        imported_file = posixpath.normpath(posixpath.join(posixpath.dirname(file), match["file"]))
        _add_module(imported_file, read_file, functions, (*importers, file))
        imported_names.append(f"const {{{match['names'].replace(' as ', ': ')}}} = {_name_module(imported_file)};")
    exported_names = ", ".join(match["name"] for match in _EXPORT.finditer(source))
    body = _EXPORT.sub(lambda match: match["kept"], _IMPORT.sub("", source))
    if unsupported := _UNSUPPORTED_STATEMENT.search(body):
        raise UnknownModuleSyntaxError(f"{file}: {unsupported[0]}")
    lines = (
        f'const {_name_module(file)} = (() => {{ "use strict";',
        *imported_names,
        body,
        f"return {{ {exported_names} }};",
        "})();",
    )
    functions[file] = "".join(f"{line}\n" for line in lines)


def _name_module(file: str) -> str:
    return "module_" + re.sub(r"\W", "_", file)
