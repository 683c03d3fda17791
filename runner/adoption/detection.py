"""Detects the build systems of a project. Pure: the result depends only on the listing of its files."""

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems import autotools, cargo, cmake, fortran, go, make, meson, python

KNOWN = "CMake, Meson, Autotools, Make, Cargo, Go, Python and Fortran"


def detect(sources: Sources) -> list[BuildProposal]:
    """Return the ways to build a project, the most likely first; empty if no build system is known."""
    native = [cargo, go, cmake, meson, autotools, make, fortran]
    systems = [python, *native] if python.leads(sources) else [*native, python]
    return [proposal for system in systems for proposal in system.propose(sources)]
