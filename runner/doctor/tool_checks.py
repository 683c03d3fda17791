"""Checks of the tools that a measurement needs: compilers, allocators, git, the sandbox, disk space."""

import re

from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, make_ok, make_problem, make_warning
from runner.environment import library_fingerprints
from runner.execution.process_variables import BASE_VARIABLES
from runner.system.mount_options import forbids_programs

_COMPILERS = {"cc": "gcc", "c++": "g++", "gfortran": "gfortran"}
"""The Debian package of each command."""
_ALLOCATORS = {"jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4", "mimalloc": "libmimalloc-dev"}
_OLDEST_GIT = (2, 31)
"""Older versions cannot read settings from variables, so a repository's own settings could not be overridden."""
_GIB = 1 << 30
_MIN_FREE_BYTES = _GIB / 10
"""With less, not even one revision of a small project can be built."""
_SUFFICIENT_FREE_BYTES = 2 * _GIB
"""With less, the builds of a history may not fit."""


def check_compilers(host: HostProbe) -> CheckResult:
    """Check that C, C++ and Fortran can be compiled."""
    missing_commands = [command for command in _COMPILERS if host.read_version(command) is None]
    if not missing_commands:
        return make_ok(host.read_version("cc") or "")
    packages = " ".join(_COMPILERS[command] for command in missing_commands)
    return make_warning(
        f"not found: {', '.join(missing_commands)}; workloads that need them cannot be built",
        f"sudo apt install {packages}",
    )


def check_allocators(host: HostProbe) -> CheckResult:
    """Check that the allocators that workloads compare are installed as shared libraries."""
    paths = {
        family: next(library_fingerprints.find_libraries(host.tree, f"lib{family}*.so.*"), None)
        for family in _ALLOCATORS
    }
    missing_families = [family for family, library in paths.items() if library is None]
    installed_names = ", ".join(library.name for library in paths.values() if library)
    if not missing_families:
        return make_ok(installed_names)
    packages = " ".join(_ALLOCATORS[family] for family in missing_families)
    return make_warning(
        f"found: {installed_names or 'none'}; not found: {', '.join(missing_families)}; "
        "cases that preload the missing ones cannot run",
        f"sudo apt install {packages}",
    )


def check_git(host: HostProbe) -> CheckResult:
    """Check that git is installed and new enough."""
    version = host.read_version("git")
    version_numbers = re.search(r"(\d+)\.(\d+)", version or "")
    if not version or not version_numbers:
        return make_problem(f"git is missing in {BASE_VARIABLES['PATH']}, or does not work", "sudo apt install git")
    if (int(version_numbers[1]), int(version_numbers[2])) < _OLDEST_GIT:
        return make_problem(f"{version} is too old", f"install git {_OLDEST_GIT[0]}.{_OLDEST_GIT[1]} or later")
    return make_ok(version)


def check_sandbox(host: HostProbe) -> CheckResult:
    """Check that untrusted code can be sandboxed."""
    version = host.read_version("bwrap")
    if version is None:
        return make_warning(
            f"bubblewrap is missing in {BASE_VARIABLES['PATH']}, or does not work: untrusted code cannot be measured",
            "sudo apt install bubblewrap",
        )
    if host.tree.read_text("proc/sys/user/max_user_namespaces") == "0":
        return make_warning(
            f"{version}, but this host does not allow user namespaces: untrusted code cannot be measured",
            "sudo sysctl -w user.max_user_namespaces=10000",
        )
    return make_ok(version)


def check_disk(host: HostProbe) -> CheckResult:
    """Check that there is writable disk space for builds and results."""
    if forbids_programs(host.home):
        return make_problem(
            f"{host.home} is on a file system that does not let programs run (noexec)",
            "set FAULTWATCH_HOME to a folder on another file system",
        )
    free_bytes = host.free_bytes(host.home)
    if free_bytes is None:
        return make_problem(f"{host.home} cannot be written", "set FAULTWATCH_HOME to a folder that you can write to")
    finding = f"{free_bytes / _GIB:.1f} GiB free in {host.home}"
    if free_bytes < _MIN_FREE_BYTES:
        return make_problem(
            f"{finding}: too little to build even a small project",
            "free some space, or set FAULTWATCH_HOME to a folder on another disk",
        )
    if free_bytes < _SUFFICIENT_FREE_BYTES:
        return make_warning(
            f"{finding}: builds of many revisions may not fit",
            "free some space, or set FAULTWATCH_HOME to a folder on another disk",
        )
    return make_ok(finding)
