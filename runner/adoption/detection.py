"""Detects the build systems of a project. Pure: the result depends only on the listing of its files."""

import dataclasses
import re

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems import autotools, cargo, cmake, fortran, go, make, meson, python

KNOWN = "CMake, Meson, Autotools, Make, Cargo, Go, Python and Fortran"


def detect(sources: Sources) -> list[BuildProposal]:
    """Return the ways to build a project, the most likely first; empty if no build system is known."""
    native = [cargo, go, cmake, meson, autotools, make, fortran]
    systems = [python, *native] if python.leads(sources) else [*native, python]
    proposals = [proposal for system in systems for proposal in system.propose(sources)]
    return [dataclasses.replace(proposal, git=reads_history(sources, proposal.system)) for proposal in proposals]


_MAKEFILES = ("GNUmakefile", "Makefile", "makefile")
_BUILD_FILES = {
    "CMake": ("CMakeLists.txt",),
    "Meson": ("meson.build",),
    "Autotools": ("configure.ac", "autogen.sh", *_MAKEFILES),
    "Make": _MAKEFILES,
    "Cargo": ("build.rs",),
    # An extension may be built by another system.
    "Python": ("setup.py", "setup.cfg", "pyproject.toml", "CMakeLists.txt", "meson.build", "build.rs"),
}
"""By build system: the files that it reads. A Makefile around ``go build`` does not count: nothing runs it."""
_HISTORY = re.compile(
    r"setuptools[_-]scm|hatch-vcs|versioningit|versioneer|dunamai|vcs_tag|git-version-gen|vergen|"
    r"git\b.{0,60}\b(?:describe|rev-parse|rev-list)\b"
)


def reads_history(sources: Sources, system: str) -> bool:
    """Return whether a file of a build system reads the version from git."""
    return any(_HISTORY.search(sources.text(name)) for name in _BUILD_FILES.get(system, ()))
