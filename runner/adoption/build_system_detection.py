"""Detects the build systems of a project from its tracked files."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.own_code import has_no_code, is_mainly_native
from runner.adoption.proposal import BuildProposal
from runner.adoption.sources import Sources, is_plain_path, is_third_party
from runner.adoption.systems import (
    autotools,
    c_files,
    cargo,
    cmake,
    fortran,
    go,
    java,
    make,
    meson,
    node,
    python,
    scripts,
)
from runner.adoption.version_from_git import VersionFromGit, detect_version_from_git
from runner.contract.word_list import join_words

KNOWN_BUILD_SYSTEMS = (
    "CMake, Meson, Autotools, Make, Cargo, Go, Maven, Gradle, javac, npm, Python, Fortran, build.sh and plain C files"
)


_BUILD_FILES = frozenset(
    {
        *("CMakeLists.txt", "meson.build", "configure.ac", "Cargo.toml", "go.mod", "pom.xml"),
        *("GNUmakefile", "makefile", "Makefile"),
        *("build.gradle", "build.gradle.kts", "package.json", "pyproject.toml", "setup.py"),
    }
)
"""The files that identify the known build systems."""
_MAX_NAMED_FILES = 3


def explain_missing_build(sources: Sources) -> str:
    """Return why no build is proposed for a project: it has no build files, or they name nothing to run."""
    build_files = [
        file for file in sources.files if PurePosixPath(file).name in _BUILD_FILES and not is_third_party(file)
    ]
    if not build_files and has_no_code(sources):
        names = [file for file in sources.files if "/" not in file][:_MAX_NAMED_FILES]
        return f"contains no source code, only files such as {join_words(names)}" if names else "contains no files"
    if not build_files:
        return f"has no build system that init knows ({KNOWN_BUILD_SYSTEMS})"
    nearest_files = sorted(build_files, key=lambda file: (file.count("/"), file))[:_MAX_NAMED_FILES]
    return f"has nothing that init can build and run: {_describe_missing_program(sources, nearest_files)}"


def _describe_missing_program(sources: Sources, files: Sequence[str]) -> str:
    """Return what the build files of a project lack, as a clause."""
    names = {PurePosixPath(file).name for file in files}
    if names == {"package.json"}:
        return node.describe_missing_run(sources, files)
    if names <= {"pom.xml", "build.gradle", "build.gradle.kts"}:
        verb = "builds" if len(files) == 1 else "build"
        no_tests = ", and no JUnit tests in src/test/java" if names == {"pom.xml"} else ""
        return f"{join_words(files)} {verb} no class with a main method outside tests and examples{no_tests}"
    return f"{join_words(files)} {'names' if len(files) == 1 else 'name'} no program or benchmark"


def propose_builds(sources: Sources) -> list[BuildProposal]:
    """Propose how to build a project, the most likely way first; empty if no build system is recognised.

    Files whose paths need quotes are ignored, because the proposed commands contain paths without quotes.
    """
    sources = replace(sources, files=tuple(filter(is_plain_path, sources.files)))
    native_systems = [cargo, go, cmake, meson, autotools, make, fortran]
    systems = [python, *native_systems] if python.is_primary_build_system(sources) else [*native_systems, python]
    # Node comes late: in most projects in other languages, package.json only serves the documentation.
    systems = [*systems, java, node, scripts]
    unsorted_proposals = [proposal for system in systems for proposal in system.propose(sources)]
    if is_mainly_native(sources) and not any(map(_builds_project, unsorted_proposals)):
        # Scripts that start what somebody has built, or only help to develop it, are no way to build it.
        unsorted_proposals = [*c_files.propose(sources), *unsorted_proposals]
    # A build file at the top is the project's usual build; those in folders often serve only to package it.
    proposals = sorted(unsorted_proposals, key=lambda proposal: proposal.depth)
    return [
        _add_version_variables(proposal, detect_version_from_git(sources, proposal.system)) for proposal in proposals
    ]


def _builds_project(proposal: BuildProposal) -> bool:
    """Return whether a proposal builds something, instead of running scripts that are in no package."""
    return bool(proposal.command) and not proposal.runs_loose_scripts


def _add_version_variables(proposal: BuildProposal, git_version: VersionFromGit) -> BuildProposal:
    """Return a build with the variables that fix its version, and with git if it needs git for its version."""
    return replace(proposal, git=git_version.git, environment={**proposal.environment, **git_version.variables})
