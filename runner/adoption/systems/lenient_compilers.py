"""Builds old code that a newer compiler rejects, with the options that the compiler names in its errors."""

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems.make import list_variables
from runner.adoption.systems.make_compilers import name_usual_compiler

_ERROR = re.compile(r"^(?P<file>[^\s:]{1,400}):(?:\d+:)+ (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_NAMED_OPTION = re.compile(r"\[(?:-Werror[=,])?(?:-W)?(?P<name>[a-z][\w+-]*|-fpermissive)\]$")
"""The end of an error of GCC or Clang about code that an option makes it accept: the warning that it was, or
``-fpermissive``."""
_PERMISSIVE = "-fpermissive"
_FORTRAN_ERROR = re.compile(r"^Error: (?P<text>.*)$", re.MULTILINE)
_MISMATCH = re.compile(r"(?:Type|Rank) mismatch (?:between actual argument|in argument)")
"""The beginning of an error of gfortran about a procedure that is called with different kinds of arguments."""
_ALLOW_MISMATCH = "-fallow-argument-mismatch"
_LENIENT_OPTION = re.compile(rf"{_PERMISSIVE}|-Wno-error=[\w+-]+|{_ALLOW_MISMATCH}")
_COMPILERS = {"CC": "cc", "CXX": "c++", "FC": "gfortran"}
"""The variables by which builds call the compilers of C, C++ and Fortran, and the usual names of these."""
_MPI_COMPILERS = {"mpicc": "CC", "mpicxx": "CXX", "mpifort": "FC"}
_SYSTEMS_WITH_VARIABLES = frozenset({"CMake", "Meson", "Autotools"})
"""Build systems that read the compiler's name and its first options from the variables of the environment."""
_MAKE = re.compile(rf"\bmake(?: \"\w+=[^\"]*(?:{_LENIENT_OPTION.pattern})[^\"]*\")*(?=[ ']|$)")
_PLAIN_COMPILER = re.compile(r"[\w./+-]+(?: -[\w./+=-]+)*")
"""A compiler and its options without references to other variables."""


def accept_rejected_code(proposal: BuildProposal, sources: Sources, log: str) -> BuildProposal | None:
    """Return a build whose compiler accepts the code that it has rejected; None if options cannot achieve this.

    Each error has to name the option, or to be one for which gfortran has an option. The options become part of the
    compiler's name, because a makefile may set the usual variables of options itself. Those of an earlier retry are
    kept: a build that goes on may meet other errors.
    """
    given_text = " ".join((proposal.command, *proposal.environment.values()))
    given_options = dict.fromkeys(_LENIENT_OPTION.findall(given_text))
    options_by_compiler = _list_options(log)
    if {option for options in options_by_compiler.values() for option in options} <= given_options.keys():
        return None
    compilers = {
        name: " ".join((compiler, *dict.fromkeys((*given_options, *options))))
        for variable, options in options_by_compiler.items()
        for name, compiler in _list_compilers(variable, sources if proposal.system == "Make" else None).items()
    }
    if proposal.system == "Make":
        assignments = " ".join(f'"{name}={compiler}"' for name, compiler in compilers.items())
        return replace(proposal, command=_MAKE.sub(f"make {assignments}", proposal.command, count=1))
    if proposal.system in _SYSTEMS_WITH_VARIABLES:
        return replace(proposal, environment={**proposal.environment, **compilers})
    return None


def names_option(error: str) -> bool:
    """Return whether an error is one that a compiler accepts with an option, which it mostly names."""
    return _NAMED_OPTION.search(error) is not None or _MISMATCH.search(error) is not None


def _list_options(log: str) -> dict[str, list[str]]:
    """Return the options with which compilers accept the code that they rejected, by the compiler's variable.

    Empty if there is no option for an error. A header may be compiled as C or C++.
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
    fortran_errors = [error["text"] for error in _FORTRAN_ERROR.finditer(log)]
    if not all(map(_MISMATCH.match, fortran_errors)):
        return {}
    if fortran_errors:
        options["FC"] = [_ALLOW_MISMATCH]
    return {variable: words for variable, words in options.items() if words}


def _list_compilers(variable: str, makefiles: Sources | None) -> dict[str, str]:
    """Return the variables that name the compilers of a language, with their values: the usual one if none is found.

    Parameters
    ----------
    variable
        The usual variable of the language.
    makefiles
        The project, if it is built by makefiles, which may use other variables.
    """
    usual_variables = {compiler: name for name, compiler in _COMPILERS.items()} | _MPI_COMPILERS
    found = {
        name: value
        for name, value in dict(list_variables(makefiles) if makefiles else ()).items()
        if _PLAIN_COMPILER.fullmatch(value)
        and usual_variables.get(name_usual_compiler(value.split()[0]) or "") == variable
    }
    return found or {variable: _COMPILERS[variable]}
