"""Builds a project with this host's compiler if its makefile names another one, or that one's options."""

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems.make import list_variables
from runner.execution.process_variables import PROCESS_VARIABLES

_MISSING_PROGRAM = re.compile(
    r"^(?:g?make(?:\[\d+\])?|(?:/bin/)?(?:ba|da)?sh): (?:line )?(?:\d+: )?(\S{1,200}): "
    r"(?:(?:command )?not found|No such file or directory)$",
    re.MULTILINE,
)
"""What make and shells print about a program that does not exist."""
_MAKE = re.compile(r"\bmake(?=[ ']|$)")
_COMPILERS: dict[str, re.Pattern[str]] = {
    "mpicxx": re.compile(r"mpi\w*(?:\+\+|cxx|CC|icpc|icpx)(?:-[\d.]+)?"),
    "mpifort": re.compile(r"mpi\w*(?:f77|f90|fort|ifx)(?:-[\d.]+)?"),
    "mpicc": re.compile(r"mpi\w*(?:cc|icx|clang)(?:-[\d.]+)?"),
    "c++": re.compile(r"(?:g|c|clang|pgc|nvc|armclang)\+\+(?:-[\d.]+)?|ic?pc|icpx|xlC(?:_r)?|CC"),
    "gfortran": re.compile(r"gfortran(?:-[\d.]+)?|f77|f90|ifort|ifx|pgf?90|pgfortran|nvfortran|xlf(?:90)?(?:_r)?|ftn"),
    "cc": re.compile(r"(?:gcc|clang|cc|c99)(?:-[\d.]+)?|icc|icx|pgcc|nvc|xlc(?:_r)?|armclang"),
}
"""The usual name of each kind of compiler, and the names by which makefiles call other versions or products."""


_UNKNOWN_OPTION = re.compile(r"(?:unrecognized (?:command[- ]line )?option|unknown argument:?) ['‘`](-[^'’]{1,60})['’]")
"""What GCC and Clang print about an option of another compiler."""
_USUAL_OPTIONS = {"-openmp": "-fopenmp", "-qopenmp": "-fopenmp", "-mp": "-fopenmp", "-qsmp=omp": "-fopenmp"}
"""Options of other compilers that this host's compilers know by another name, or take for something else: GCC takes
``-openmp`` for the name of its output."""


def replace_foreign_options(proposal: BuildProposal, sources: Sources, log: str) -> BuildProposal | None:
    """Return a build without the options of another compiler, such as Intel's, that this host's compiler refused.

    None if it refused none, or if no variable of the makefile contains them.
    """
    refused_options = set(_UNKNOWN_OPTION.findall(log))
    if proposal.system != "Make" or not refused_options:
        return None
    assignments = []
    for variable, value in dict(list_variables(sources)).items():
        options = value.split()
        known_options = [_USUAL_OPTIONS.get(option, option) for option in options if option not in refused_options]
        # A value with references or quotes would have to be quoted twice.
        if known_options != options and not re.search(r"[$'\"\\`]", value):
            assignments.append(shlex.quote(f"{variable}={' '.join(known_options)}").replace("'", '"'))
    return _assign_variables(proposal, assignments)


def replace_missing_compiler(proposal: BuildProposal, sources: Sources, log: str) -> BuildProposal | None:
    """Return a build in which the variables of a missing compiler name this host's; None if no compiler is missing."""
    match = _MISSING_PROGRAM.search(log)
    if proposal.system != "Make" or match is None:
        return None
    compiler = name_usual_compiler(match[1])
    if compiler is None or shutil.which(compiler, path=PROCESS_VARIABLES["PATH"]) is None:
        return None
    variables = [variable for variable, value in list_variables(sources) if value.split()[:1] == [match[1]]]
    assignments = [f"{variable}={compiler}" for variable in dict.fromkeys(variables)]
    return _assign_variables(proposal, assignments)


def name_usual_compiler(path: str) -> str | None:
    """Return the usual name of the kind of compiler to which a path or a name belongs; None if it is no compiler."""
    name = PurePosixPath(path).name
    return next((usual for usual, names in _COMPILERS.items() if names.fullmatch(name)), None)


def _assign_variables(proposal: BuildProposal, assignments: Sequence[str]) -> BuildProposal | None:
    """Return a build whose make gets assignments of variables; None if there are none, or if it has them already."""
    if not assignments or assignments[0] in proposal.command:
        return None
    return replace(proposal, command=_MAKE.sub(f"make {' '.join(assignments)}", proposal.command, count=1))
