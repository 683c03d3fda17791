"""Selects the remedies that can have an effect in a live program, and says how to try them."""

import re
import shlex
from collections.abc import Mapping

from msgspec.structs import replace

from runner.attach.live_program import RUNTIMES_WITH_OWN_HEAP, LiveProgram
from runner.contract.diagnosis import Diagnosis, Finding
from runner.contract.profile import Anatomy, Memory

_PRELOADED_LIBRARIES = {
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "jemalloc": "libjemalloc.so.2",
    "mimalloc": "libmimalloc.so.2",
}
"""By allocator: the shared library to preload."""
_TUNABLES = {
    "env.MALLOC_MMAP_THRESHOLD_": "glibc.malloc.mmap_threshold",
    "env.MALLOC_TRIM_THRESHOLD_": "glibc.malloc.trim_threshold",
    "env.MALLOC_ARENA_MAX": "glibc.malloc.arena_max",
    "env.MALLOC_TOP_PAD_": "glibc.malloc.top_pad",
}
"""Variables of the C library's allocator, with the equivalent tunables."""
_VARIABLES_OF_ALLOCATORS = {
    re.compile(r"env\.\w*MALLOC_CONF"): "jemalloc",
    re.compile(r"env\.TCMALLOC_\w+"): "tcmalloc",
    re.compile(r"env\.MIMALLOC_\w+"): "mimalloc",
}
"""Variables that only one allocator reads."""
_HUGE_PAGES_FILE = "/sys/kernel/mm/transparent_hugepage/enabled"
_SYSTEMD_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "%": "%%"})
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")
_USER_MANAGER = re.compile(r"/user@\d+\.service(?:/|$)", re.ASCII)
"""The unit of the systemd that manages the units of one user: all programs of the user are below it."""


def fit_diagnosis(diagnosis: Diagnosis, program: LiveProgram, anatomy: Anatomy | None = None) -> Diagnosis:
    """Return a diagnosis with only the remedies that can have an effect in a program.

    Parameters
    ----------
    anatomy
        The program's faults. Even if its runtime has a heap of its own, most of them may be in the C library's heap,
        as with the buffers of Node.
    """
    if anatomy and program.uses_shared_libraries and is_in_heap(anatomy):
        allocator = program.allocator if program.allocator != program.runtime else "glibc"
        program = replace(program, runtime="", allocator=allocator)
    return diagnosis.model_copy(
        update={"findings": tuple(_fit_finding(finding, program) for finding in diagnosis.findings)}
    )


def is_in_heap(anatomy: Anatomy) -> bool:
    """Return whether the largest part of the faults is in the heap of the C library."""
    return max(anatomy.by_memory, key=lambda kind: anatomy.by_memory[kind], default=None) in {Memory.HEAP, Memory.ARENA}


def can_have_effect(settings: Mapping[str, str], program: LiveProgram) -> bool:
    """Return whether settings can have an effect in a program with its allocator and runtime."""
    allocator = settings.get("allocator")
    # Another allocator is a shared library that replaces the C library's heap.
    if allocator is not None and (
        program.runtime in RUNTIMES_WITH_OWN_HEAP
        or program.allocator in {"", allocator}
        or not program.uses_shared_libraries
    ):
        return False
    # Only the allocator itself reads its variables and tunables.
    for pattern, variable_allocator in _VARIABLES_OF_ALLOCATORS.items():
        if program.allocator != variable_allocator and any(map(pattern.fullmatch, settings)):
            return False
    return not (settings.keys() & _TUNABLES.keys() and program.allocator != "glibc")


def describe_trial(settings: Mapping[str, str], program: LiveProgram) -> str:
    """Return how to try settings with a running program: as commands, or as instructions what to write where."""
    variables: dict[str, str] = {}
    tunables = []
    commands = []
    for name, value in settings.items():
        if name in _TUNABLES:
            tunables.append(f"{_TUNABLES[name]}={value}")
        elif name.startswith("env."):
            variables[name.removeprefix("env.")] = value
        elif name == "allocator":
            library = _PRELOADED_LIBRARIES.get(value, f"lib{value}.so")
            # The first library counts. Those that are preloaded already have another purpose, and stay.
            variables["LD_PRELOAD"] = f"{library} {program.variables.get('LD_PRELOAD', '')}".strip()
        elif name == "thp":
            commands.append(f"echo {value} | sudo tee {_HUGE_PAGES_FILE}   # takes effect at once, on the whole host")
        else:
            commands.append(f"{name}={value}")
    if tunables:
        present_tunables = program.variables.get("GLIBC_TUNABLES")
        if present_tunables:
            tunables.insert(0, present_tunables)  # One variable holds all tunables, so it has to keep the present ones.
        variables["GLIBC_TUNABLES"] = ":".join(tunables)
    if variables:
        commands.insert(0, _describe_variables(variables, program))
    return "; ".join(commands)


def _describe_variables(variables: Mapping[str, str], program: LiveProgram) -> str:
    """Return how to start a program with other variables, which it reads only at its start."""
    edit_command = _build_edit_command(program.process.group)
    if edit_command:
        lines = " ".join(
            f'Environment="{name}={value.translate(_SYSTEMD_ESCAPES)}"' for name, value in variables.items()
        )
        return f"run `{edit_command}`, add [Service] {lines}, and restart it"
    # Only the value is quoted: a shell takes a quoted name for a command.
    words = (f"{name}={shlex.quote(value)}" for name, value in variables.items())
    return f"start it with {' '.join(words)}"


def _build_edit_command(group: str) -> str:
    """Return the command that edits the service unit of a control group; empty if the group is in no such unit."""
    manager = _USER_MANAGER.search(group)
    unit = _UNIT.search(group, manager.end() - 1 if manager else 0)
    if unit is None:
        return ""
    return f"systemctl --user edit {unit[1]}" if manager else f"systemctl edit {unit[1]}"


def _fit_finding(finding: Finding, program: LiveProgram) -> Finding:
    """Return a finding with only the remedies that can have an effect in a program."""
    return finding.model_copy(
        update={"remedies": tuple(remedy for remedy in finding.remedies if can_have_effect(remedy.settings, program))}
    )
