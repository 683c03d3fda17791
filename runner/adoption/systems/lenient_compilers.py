"""Builds old code that a newer compiler rejects, with the options that the compiler names in its errors."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems.make import list_variables

_ERROR = re.compile(r"^(?P<file>[^\s:]{1,400}):(?:\d+:)+ (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_NAMED_OPTION = re.compile(r"\[(?:-Werror[=,])?(?:-W)?(?P<name>[a-z][\w+-]*|-fpermissive)\]$")
"""The end of an error of GCC or Clang about code that an option makes it accept: the warning that it was, or
``-fpermissive``."""
_PERMISSIVE = "-fpermissive"
_LENIENT_OPTION = re.compile(r"-fpermissive|-Wno-error=[\w+-]+")
_COMPILERS = {"CC": "cc", "CXX": "c++"}
"""The variables by which builds call the compilers of C and of C++, and the usual names of these."""
_SYSTEMS_WITH_VARIABLES = frozenset({"CMake", "Meson", "Autotools"})
"""Build systems that read the compiler's name and its first options from the variables of the environment."""
_MAKE = re.compile(r"\bmake(?: \"(?:CC|CXX)=[^\"]*\")*(?=[ ']|$)")
_PLAIN_COMPILER = re.compile(r"[\w./+-]+(?: -[\w./+=-]+)*")
"""A compiler and its options without references to other variables."""


def accept_rejected_code(proposal: BuildProposal, sources: Sources, log: str) -> BuildProposal | None:
    """Return a build whose compiler accepts the code that it has rejected; None if options cannot achieve this.

    Each error has to name the option. The options become part of the compiler's name, because a makefile may set the
    usual variables of options itself. Those of an earlier retry are kept: a build that goes on may meet other errors.
    """
    given_text = " ".join((proposal.command, *proposal.environment.values()))
    given_options = dict.fromkeys(_LENIENT_OPTION.findall(given_text))
    options_by_compiler = _list_options(log)
    if {option for options in options_by_compiler.values() for option in options} <= given_options.keys():
        return None
    names = {**_COMPILERS, **(_list_plain_compilers(sources) if proposal.system == "Make" else {})}
    compilers = {
        variable: " ".join((names[variable], *dict.fromkeys((*given_options, *options))))
        for variable, options in options_by_compiler.items()
    }
    if proposal.system == "Make":
        assignments = " ".join(f'"{variable}={compiler}"' for variable, compiler in compilers.items())
        return replace(proposal, command=_MAKE.sub(f"make {assignments}", proposal.command, count=1))
    if proposal.system in _SYSTEMS_WITH_VARIABLES:
        return replace(proposal, environment={**proposal.environment, **compilers})
    return None


def names_option(error: str) -> bool:
    """Return whether an error of a compiler names the option with which the compiler accepts the code."""
    return _NAMED_OPTION.search(error) is not None


def _list_options(log: str) -> dict[str, list[str]]:
    """Return the options with which compilers accept the code that they rejected, by the compiler's variable.

    Empty if an error names no option. A header may be compiled as either language.
    """
    options: dict[str, list[str]] = {}
    for error in _ERROR.finditer(log):
        match = _NAMED_OPTION.search(error["text"])
        if match is None:
            return {}
        option = _PERMISSIVE if match["name"] == _PERMISSIVE else f"-Wno-error={match['name']}"
        suffix = PurePosixPath(error["file"]).suffix
        may_be_c = suffix == ".c" or (suffix == ".h" and option != _PERMISSIVE)
        for variable, is_meant in (("CC", may_be_c), ("CXX", suffix != ".c")):
            if is_meant and option not in options.setdefault(variable, []):
                options[variable].append(option)
    return {variable: words for variable, words in options.items() if words}


def _list_plain_compilers(sources: Sources) -> Mapping[str, str]:
    """Return the compilers that the makefiles name, with their options, by their variables."""
    variables = dict(list_variables(sources))
    return {name: variables[name] for name in _COMPILERS if _PLAIN_COMPILER.fullmatch(variables.get(name, ""))}
