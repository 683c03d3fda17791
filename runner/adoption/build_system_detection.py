"""Detects the build systems of a project. Pure: the result depends only on the listing of its files."""

from msgspec.structs import replace

from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources
from runner.adoption.systems import autotools, cargo, cmake, fortran, go, java, make, meson, node, python, scripts
from runner.adoption.version_from_git import VersionFromGit, detect_version_from_git

KNOWN_BUILD_SYSTEMS = "CMake, Meson, Autotools, Make, Cargo, Go, Maven, Gradle, javac, npm, Python and Fortran"


def propose_builds(sources: Sources) -> list[BuildProposal]:
    """Propose how to build a project, the most likely way first; empty if no build system is recognised."""
    native = [cargo, go, cmake, meson, autotools, make, fortran]
    systems = [python, *native] if python.is_primary_build_system(sources) else [*native, python]
    # Few projects in other languages have a package.json for more than their documents.
    systems = [*systems, java, node, scripts]
    unsorted = [proposal for system in systems for proposal in system.propose(sources)]
    # What is at the top is the project's usual build, and often the smallest: build files in folders are for packagers.
    proposals = sorted(unsorted, key=lambda proposal: proposal.depth)
    return [
        _add_version_variables(proposal, detect_version_from_git(sources, proposal.system)) for proposal in proposals
    ]


def _add_version_variables(proposal: BuildProposal, git_version: VersionFromGit) -> BuildProposal:
    """Return a build with what it needs to derive the project's version from git, if it does."""
    return replace(proposal, git=git_version.git, environment={**proposal.environment, **git_version.variables})
