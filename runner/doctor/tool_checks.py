"""Checks of what a measurement needs at hand: compilers, allocators, git, room on disk."""

import re

from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, ok, problem, warning
from runner.environment import libraries

_COMPILERS = {"cc": "gcc", "c++": "g++", "gfortran": "gfortran"}
"""Command → Debian package."""
_ALLOCATORS = {"jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4", "mimalloc": "libmimalloc-dev"}
_GIT_WITH_WORKTREES = (2, 5)
_GIB = 1 << 30


def compilers(host: HostProbe) -> CheckResult:
    """C, C++ and Fortran can be compiled."""
    missing = [command for command in _COMPILERS if host.version(command) is None]
    if not missing:
        return ok(host.version("cc") or "")
    packages = " ".join(_COMPILERS[command] for command in missing)
    return warning(
        f"not found: {', '.join(missing)}; workloads in that language do not build", f"sudo apt install {packages}"
    )


def allocators(host: HostProbe) -> CheckResult:
    """The allocators that workloads compare are there as shared libraries."""
    found = {family: next(libraries.find(host.tree, f"lib{family}*.so.*"), None) for family in _ALLOCATORS}
    missing = [family for family, library in found.items() if library is None]
    there = ", ".join(library.name for library in found.values() if library)
    if not missing:
        return ok(there)
    packages = " ".join(_ALLOCATORS[family] for family in missing)
    return warning(
        f"found: {there or 'none'}; not found: {', '.join(missing)}; cases that preload one cannot run",
        f"sudo apt install {packages}",
    )


def git(host: HostProbe) -> CheckResult:
    """Git is there, and knows worktrees."""
    told = host.version("git")
    number = re.search(r"(\d+)\.(\d+)", told or "")
    if not told or not number:
        return problem("git is not installed", "sudo apt install git")
    if (int(number[1]), int(number[2])) < _GIT_WITH_WORKTREES:
        return problem(f"{told} has no worktrees", "install git 2.5 or later")
    return ok(told)


def sandbox(host: HostProbe) -> CheckResult:
    """Code of strangers can be confined."""
    told = host.version("bwrap")
    if told is None:
        return warning(
            "bubblewrap is not installed: code of strangers cannot be measured", "sudo apt install bubblewrap"
        )
    if host.tree.text("proc/sys/user/max_user_namespaces") == "0":
        return warning(
            f"{told}, but this host allows no user namespaces: code of strangers cannot be measured",
            "sudo sysctl -w user.max_user_namespaces=10000",
        )
    return ok(told)


def disk(host: HostProbe) -> CheckResult:
    """There is room for builds and results, and they may be written."""
    free = host.free_bytes(host.home)
    if free is None:
        return problem(f"{host.home} cannot be written", "set FAULTWATCH_HOME to a folder of your own")
    shown = f"{free / _GIB:.1f} GiB free in {host.home}"
    if free < _GIB / 10:
        return problem(shown, "free some space, or set FAULTWATCH_HOME to another disk")
    if free < 2 * _GIB:
        return warning(
            f"{shown}: builds of many revisions may not fit", "free some, or set FAULTWATCH_HOME to another disk"
        )
    return ok(shown)
