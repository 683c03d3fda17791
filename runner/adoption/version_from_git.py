"""Finds builds that derive a version from the git history, and fixes the version if a variable can set it.

Such a version becomes a part of the program's bytes and changes with each commit, so that a commit which changes no
code can move the count. A fixed version has no drawback, because the count does not depend on its value.
"""

import re
from collections.abc import Mapping

from msgspec import Struct, field

from runner.adoption.sources import Sources

FIXED_VERSION = "1.0.0"
_VARIABLES = {
    "SETUPTOOLS_SCM_PRETEND_VERSION": re.compile(r"setuptools[_-]scm|hatch-vcs"),
    "PDM_BUILD_SCM_VERSION": re.compile(r"^source\s*=\s*[\"']scm[\"']", re.MULTILINE),
    "PBR_VERSION": re.compile(r"\bpbr\s*=\s*True\b|[\"']pbr[\"'\s<>=]"),
}
"""The variables that set a version, each with the words in a build's files that show that the build obeys it."""
_GIT_DESCRIBE = re.compile(
    r"versioningit|versioneer|dunamai|vcs_tag|git-version-gen|vergen|git\b.{0,60}\b(?:describe|rev-parse|rev-list)\b"
)
_MAKEFILES = ("GNUmakefile", "Makefile", "makefile")
_BUILD_FILES = {
    "CMake": ("CMakeLists.txt",),
    "Meson": ("meson.build",),
    "Autotools": ("configure.ac", "autogen.sh", *_MAKEFILES),
    "Make": _MAKEFILES,
    "Cargo": ("build.rs",),
    # Another system may build an extension module.
    "Python": ("setup.py", "setup.cfg", "pyproject.toml", "CMakeLists.txt", "meson.build", "build.rs"),
}
"""The files that each build system reads. A Makefile around ``go build`` is not among them: the proposed build of a Go
project does not run it."""

_FIXED_VERSION_REMARK = (
    "The version is fixed at {1} ({0} in [build.environment]), because a version taken from git would change the "
    "program with every commit"
)
_VARYING_VERSION_REMARK = (
    "With `git = true`, every commit puts a different version into the program, so a count can change by one fault "
    "even if no code changes. "
)
_FIX_BY_VARIABLE = f'Write {{}} = "{FIXED_VERSION}" into [build.environment] instead'
_FIX_BY_HAND = (
    "Give the build a fixed version if it accepts one, or tolerate such changes with `budget = {minor-faults = 1}` in "
    "[metrics]"
)


class VersionFromGit(Struct, frozen=True):
    """How the version in a build is determined.

    Attributes
    ----------
    variables
        Variables that fix the version, so that the build does not read the history.
    git
        Whether the build still reads the history.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    git: bool = False


def detect_version_from_git(sources: Sources, *systems: str) -> VersionFromGit:
    """Return how the given build systems determine the version of a project."""
    names = dict.fromkeys(name for system in systems for name in _BUILD_FILES.get(system, ()))
    texts = [sources.read_text(name) for name in names]
    variables = {name: FIXED_VERSION for name, pattern in _VARIABLES.items() if any(map(pattern.search, texts))}
    return VersionFromGit(variables, git=any(map(_GIT_DESCRIBE.search, texts)))


def describe_version(sources: Sources, environment: Mapping[str, str], *, git: bool) -> str:
    """Return a line that warns of a version from git, or says that it is fixed; empty if there is nothing to say.

    Parameters
    ----------
    environment
        The variables of the build, of which one may fix the version.
    git
        Whether the build sees the git history (``git = true``), and so may derive a version from it.
    """
    if not git:
        fixed_variable = next((name for name in _VARIABLES if name in environment), None)
        return _FIXED_VERSION_REMARK.format(fixed_variable, environment[fixed_variable]) if fixed_variable else ""
    version = detect_version_from_git(sources, *_BUILD_FILES)
    # Setting a variable does not help if something else still reads the history.
    variable = None if version.git else next(iter(version.variables), None)
    return _VARYING_VERSION_REMARK + (_FIX_BY_VARIABLE.format(variable) if variable else _FIX_BY_HAND)
