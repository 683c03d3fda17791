"""Captures the environment: every setting that can change a fault count, as a flat, canonical, small document.

These rules ensure that an unchanged machine always has the same hash:

- A value that changes by itself (free memory, frequencies, process ids, group names) is not a setting.
- A setting that this machine does not have or does not show is left out: it is never guessed, and has no placeholder.
- Everything except the versions of compilers is read below a root, so that a test can supply a simulated machine.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from runner.contract.report import Environment
from runner.environment import allocator, cgroup, compilers, cpu, filesystem, kernel, memory
from runner.environment.secrets import hide_secret
from runner.execution.process_variables import PROCESS_VARIABLES
from runner.system.tree import SettingValues, Tree

_MAX_NAME_CHARACTERS = 100
_MAX_VALUE_CHARACTERS = 4000
"""Characters that the contract allows in a value; a longer value is cut, and its length and hash are appended."""
_SUFFIX_CHARACTERS = 100
"""Characters reserved for the length and the hash of a value that was cut."""
_DIGEST_DIGITS = 12


def capture_environment(
    *,
    variables: Mapping[str, str],
    build_tools: Mapping[str, str] | None = None,
    root: Path = Path("/"),
    work_directory: Path | None = None,
    own_settings: Mapping[str, str] | None = None,
) -> Environment:
    """Read the current environment.

    Parameters
    ----------
    variables
        The environment variables of the measured process, which also decide its allocator. Except for the runner's
        own fixed variables, each becomes a setting ``variable.NAME``. They must not contain paths that change with
        the revision (a worktree, a build directory): each revision would have its own environment.
    build_tools
        The tools that build the program: role → command; by default the usual compilers.
    root
        The root of the machine's file system.
    work_directory
        The folder of the built program and its data; its file system becomes a setting.
    own_settings
        Settings that the caller makes itself, such as the state in which it starts processes.
    """
    tree = Tree(root)
    settings: SettingValues = {
        **kernel.read_settings(tree),
        **cpu.read_settings(tree),
        **memory.read_settings(tree),
        **cgroup.read_settings(tree),
        **(filesystem.read_settings(tree, work_directory.resolve()) if work_directory else {}),
        **allocator.read_settings(tree, variables),
        **compilers.read_settings(build_tools),
        **_capture_variables(variables),
        **(own_settings or {}),
    }
    return Environment(
        settings={name: _shorten_value(value) for name, value in sorted(settings.items()) if value is not None}
    )


def find_differences(before: Environment, after: Environment) -> list[tuple[str, str | None, str | None]]:
    """Return the settings that differ, by name, with both values; ``None`` where a side lacks the setting."""
    old_settings, new_settings = before.settings, after.settings
    return [
        (name, old_settings.get(name), new_settings.get(name))
        for name in sorted(old_settings | new_settings)
        if old_settings.get(name) != new_settings.get(name)
    ]


def _capture_variables(variables: Mapping[str, str]) -> SettingValues:
    """Return the variables of a process as settings; values of secrets are hidden."""
    return {
        f"variable.{name[:_MAX_NAME_CHARACTERS]}": hide_secret(name, value)
        for name, value in variables.items()
        if PROCESS_VARIABLES.get(name) != value
    }


def _shorten_value(value: str) -> str:
    """Return a value; if it is too long, its end is replaced by the length and digest of the whole value."""
    if len(value) <= _MAX_VALUE_CHARACTERS:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()[:_DIGEST_DIGITS]
    return f"{value[: _MAX_VALUE_CHARACTERS - _SUFFIX_CHARACTERS]}… ({len(value)} characters, sha256 {digest})"
