"""Says which functions of a live program have no names in its profile, and how to get their names."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from runner.attach.foreign_files import can_read_files
from runner.attach.live_program import LiveProgram
from runner.contract.profile import COMPILED_MODULE, DELETED_SUFFIX, UNKNOWN_FUNCTION, Profile
from runner.profile.memory_mappings import SHARED_MEMORY_PREFIXES
from runner.system.valid_text import make_valid_text

_MIN_SHARE = 0.05
"""A file is reported if at least this share of the stacks pass through its functions without names."""
_MAX_FILES = 3
"""The largest number of files that are reported."""
_TIMEOUT_SECONDS = 5.0
_RUNTIME_HINTS: Mapping[str, str] = {
    "java": (
        "`jcmd {pid} Compiler.perfmap` (JDK 17 or later) writes the names of the functions for perf; to see the "
        "callers too, start the program with -XX:+PreserveFramePointer"
    ),
    "node": (
        "start the program with `node --perf-basic-prof-only-functions`, which writes the names of its functions for "
        "perf"
    ),
    "dotnet": "start the program with DOTNET_PerfMapEnabled=1, which writes the names of its functions for perf",
    "python": (
        "start the program with `python -X perf` (3.12 or later), which writes the names of Python functions for perf"
    ),
}
_OTHER_RUNTIME_HINT = "if its runtime can write a perf map, which contains the names, enable that"
_PREFIXES_WITHOUT_FILE = ("//", *SHARED_MEMORY_PREFIXES)
"""How modules without a file begin. Some runtimes put the code that they generate into shared memory."""
FindPackage = Callable[[str], str]


def describe_missing_names(profile: Profile, program: LiveProgram, find_package: FindPackage) -> Iterator[str]:
    """Yield a remark for each file whose functions without names are in many stacks, and for code without a file.

    Parameters
    ----------
    find_package
        Returns how to install the names of a file's functions; empty if no package contains the file.
    """
    if program.is_replaced:
        yield (
            f"{make_valid_text(program.file)} was replaced or removed since the process started, so its functions have "
            "no names: restart the process"
        )
        return
    shares = compute_unknown_shares(profile)
    modules = [module for module in sorted(shares, key=lambda module: -shares[module]) if shares[module] >= _MIN_SHARE]
    for module in modules[:_MAX_FILES]:
        explanation = _explain_missing_names(module, program, find_package)
        yield f"{100 * shares[module]:.0f} % of the stacks pass through {explanation}"


def _explain_missing_names(module: str, program: LiveProgram, find_package: FindPackage) -> str:
    """Return which functions have no names, why, and the remedy; ``module`` is empty for code without a file."""
    if not module:
        hint = _RUNTIME_HINTS.get(program.runtime, _OTHER_RUNTIME_HINT)
        return (
            "code that was generated at run time and whose functions have no names: "
            f"{hint.format(pid=program.process.pid)}"
        )
    if module.endswith(DELETED_SUFFIX):
        return (
            f"functions without names, because {module.removesuffix(DELETED_SUFFIX)} was replaced or removed since the "
            "process started: restart the process"
        )
    if not can_read_files(program):
        remedy = "run the command with sudo" if os.geteuid() else "end the observation before the process ends"
        return f"functions without names, because the container's {module} cannot be read: {remedy}"
    if program.has_own_files:
        remedy = "keep its symbols in the image, or install its debug package there"
    else:
        remedy = find_package(module if module.startswith("/") else program.file) or "build it without `strip`"
    return f"functions without names, because {module} is stripped: {remedy}"


def compute_unknown_shares(profile: Profile) -> dict[str, float]:
    """Return, by file, the share of stacks that pass through its functions without names: the largest of all kinds.

    The key is empty for code without a file, which a runtime has generated.
    """
    modules = {
        index: _name_module(frame.module)
        for index, frame in enumerate(profile.frames)
        if frame.function == UNKNOWN_FUNCTION
    }
    shares: dict[str, float] = {}
    for stacks in (profile.faults, profile.on_cpu):
        weights: Counter[str] = Counter()
        for stack in stacks.stacks if stacks else ():
            # A set, because a stack counts once for a file however often it passes through it.
            for module in {modules[index] for index in stack.frames if index in modules}:
                weights[module] += stack.weight
        for module, weight in weights.items():
            shares[module] = max(shares.get(module, 0.0), weight / stacks.total if stacks and stacks.total else 0.0)
    return shares


def _name_module(module: str) -> str:
    """Return the file of a module; empty for memory without a file, and for code that a runtime has generated."""
    has_file = module[:1].isalnum() or (module.startswith("/") and not module.startswith(_PREFIXES_WITHOUT_FILE))
    return module if has_file and module != COMPILED_MODULE else ""


def find_debug_package(path: str) -> str:
    """Return how to install the names of a file's functions: the debug package of the package with the file.

    Empty if no package contains the file.
    """
    # Where /lib is a link to /usr/lib, a package may list its files under either name.
    for candidate in (path, path.removeprefix("/usr")):
        package = _run_query("dpkg-query", "-S", candidate).partition(":")[0]
        if package and " " not in package:  # With a space, it is a message, or a list of several packages.
            if package == "libc6":  # Its debug symbols have a package in the ordinary archive.
                return "`apt install libc6-dbg`"
            return f"`apt install {package}-dbgsym`, from Debian's or Ubuntu's archive of debug symbols"
    package = _run_query("rpm", "-qf", "--queryformat", "%{NAME}", path)
    return f"`dnf debuginfo-install {package}`" if package and " " not in package else ""


def _run_query(*words: str) -> str:
    """Return the first line that a package manager prints; empty if it fails or is not installed."""
    try:
        result = subprocess.run(
            words, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.partition("\n")[0].strip() if result.returncode == 0 else ""
