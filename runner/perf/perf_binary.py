"""Finds perf. On Ubuntu, ``perf`` is a script that refuses other kernels, although any perf can count faults."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from runner.execution.process_variables import BASE_VARIABLES

REPORT_HINT = "please report this, with the output of `perf --version`"
"""What to do about an output of perf that cannot be parsed."""
_PERF_OF_ANY_KERNEL = "usr/lib/linux-tools/*/perf"
_TIMEOUT_SECONDS = 10.0
"""Seconds that a short command, such as ``perf record -h``, may take; on a busy host, its start may take some."""


@lru_cache
def get_perf_program() -> str:
    """Return the name or the path of perf on this host; it may still not work."""
    return find_perf(Path("/"), BASE_VARIABLES["PATH"], os.uname().release)


@lru_cache
def has_record_option(option: str) -> bool:
    """Return whether perf record has an option, such as ``--synth``, which came with Linux 5.12."""
    result = run_tool([get_perf_program(), "record", "-h"])
    return result is not None and f" {option} " in result.stdout + result.stderr


def run_tool(words: Sequence[str]) -> "subprocess.CompletedProcess[str] | None":
    """Run a short command without input; return None if it cannot be executed, or takes too long."""
    try:
        return subprocess.run(
            words,
            env=dict(BASE_VARIABLES),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def find_perf(root: Path, path: str, release: str) -> str:
    """Return ``perf``; if that is a script that has no perf for this kernel, return the newest perf for other kernels.

    Parameters
    ----------
    root
        The folder that serves as ``/``.
    path
        The folders in which programs are searched for, separated by colons.
    release
        The release of the running kernel.
    """
    program = shutil.which("perf", path=path)
    if program is None or not _is_script(Path(program)) or (root / _PERF_OF_ANY_KERNEL.replace("*", release)).exists():
        return "perf"
    kernel_programs = sorted(root.glob(_PERF_OF_ANY_KERNEL), key=_get_kernel_version)
    return str(kernel_programs[-1]) if kernel_programs else "perf"


def _is_script(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(2) == b"#!"


def _get_kernel_version(file: Path) -> tuple[list[int], str]:
    """Return the key by which versions are sorted: first their numbers, because as text, 10 would precede 9."""
    name = file.parent.name
    return [int(number) for number in re.findall(r"\d+", name)], name
