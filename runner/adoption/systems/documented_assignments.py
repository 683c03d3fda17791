"""Finds the variables that a project's documents assign when they show how to make it."""

import re
from collections.abc import Collection

from runner.adoption.documented_commands import list_documents
from runner.adoption.sources import Sources

_MAKE_COMMAND = re.compile(r"(?<![\w./-])g?make((?:[ \t]+[A-Za-z_]\w*=[\w.+-]+)+)(?![ \t]+\w+=|[\w.+=/$-])")
"""A command of make that assigns only simple values."""
_USUAL_VALUE = re.compile(r"gcc|gnu|g\+\+|gfortran|linux|unix|serial|generic", re.IGNORECASE)
"""The values that choose what most hosts have. Others choose the compilers of vendors, or options such as a debugger's.
"""


def find_usual_assignments(sources: Sources, known_variables: Collection[str]) -> str:
    """Return the first assignments of a documented make command that choose a usual compiler or machine.

    Some makefiles build nothing until a variable names the compiler: ``make COMPILER=GNU``. Empty if the documents show
    no such command.

    Parameters
    ----------
    known_variables
        The variables that the makefile sets or reads.
    """
    for document in list_documents(sources):
        for match in _MAKE_COMMAND.finditer(sources.read_text(document)):
            assignments = [text.partition("=") for text in match[1].split()]
            are_known = all(name in known_variables for name, _, _ in assignments)
            if are_known and any(_USUAL_VALUE.fullmatch(value) for _, _, value in assignments):
                return " ".join(match[1].split())
    return ""
