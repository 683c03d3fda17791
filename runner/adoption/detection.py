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
    git = reads_history(sources)
    proposals = [proposal for system in systems for proposal in system.propose(sources)]
    return [dataclasses.replace(proposal, git=git) for proposal in proposals]


_BUILD_FILES = (
    *("CMakeLists.txt", "GNUmakefile", "Makefile", "makefile", "meson.build", "configure.ac", "autogen.sh"),
    *("build.rs", "setup.py", "setup.cfg", "pyproject.toml"),
)
_HISTORY = re.compile(
    r"setuptools[_-]scm|hatch-vcs|versioningit|versioneer|dunamai|vcs_tag|git-version-gen|vergen|"
    r"git\b.{0,60}\b(?:describe|rev-parse|rev-list)\b"
)


def reads_history(sources: Sources) -> bool:
    """Return whether a file of the build reads the version from git."""
    return any(_HISTORY.search(sources.text(name)) for name in _BUILD_FILES)
