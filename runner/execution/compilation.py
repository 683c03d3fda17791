"""Compiles the runner's own small C programs once, and caches them."""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from runner.execution.execution_log import log_command
from runner.execution.process_variables import BASE_VARIABLES
from runner.system.durable_files import rename_durably
from runner.system.scratch import make_scratch_folder

_TIMEOUT_SECONDS = 600.0
"""Seconds that a compiler may take. It needs half a second, but a hundred times as long at a low priority on a busy
host. The limit is generous, because without the program nothing can be measured."""
_DIGEST_DIGITS = 16
_INSTALL_HINT = "Debian and Ubuntu: apt install gcc libc6-dev"


class CompilationError(Exception):
    """A program could not be compiled; the message says why.

    Attributes
    ----------
    remedy
        What to do about it.
    """

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


def compile_program(source: Path, cache: Path, *, headers: Sequence[Path] = (), options: Sequence[str] = ()) -> Path:
    """Return the program of a source file; compile it if the cache lacks it.

    Parameters
    ----------
    cache
        The folder of compiled programs.
    headers
        Files that the source includes: a change of one compiles the program again.
    options
        Options of the compiler; left out if the compiler rejects them.

    Raises
    ------
    CompilationError
        There is no compiler, it fails, or the program cannot be stored.
    """
    # Hosts of different architectures can share a home directory.
    content = b"\0".join((os.uname().machine.encode(), *(file.read_bytes() for file in (source, *headers))))
    program = cache / f"{source.stem}-{hashlib.sha256(content).hexdigest()[:_DIGEST_DIGITS]}"
    try:
        # A power cut can leave an empty file.
        if program.exists() and program.stat().st_size:
            return program
        cache.mkdir(parents=True, exist_ok=True)
        # Compile under another name first: two runners may compile it at once.
        with make_scratch_folder(cache) as scratch:
            output = scratch / source.stem
            error = _run_compiler(source, output, options)
            if error:
                error = _run_compiler(source, output, ())
            if error:
                raise error
            output.chmod(0o755)
            rename_durably(output, program)
    except OSError as error:
        remedy = "free space in this folder, or set FAULTWATCH_HOME to your own folder"
        raise CompilationError(f"{program} cannot be stored: {error.strerror}", remedy) from None
    return program


def _run_compiler(source: Path, program: Path, options: Sequence[str]) -> CompilationError | None:
    """Compile a program; return why this failed, or None."""
    command = ["cc", "-O1", *options, "-o", str(program), str(source)]
    log_command(command)
    try:
        result = subprocess.run(
            command,
            cwd=program.parent,
            env=dict(BASE_VARIABLES),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        return CompilationError(f"there is no C compiler (cc) to compile {source.name}", _INSTALL_HINT)
    except PermissionError as error:
        what = f"cc, which compiles {source.name}, cannot be executed: {error.strerror}"
        return CompilationError(what, "let this user execute it, or install it again")
    except subprocess.TimeoutExpired:
        what = f"cc did not finish compiling {source.name} within {_TIMEOUT_SECONDS:g} s"
        return CompilationError(what, "run the command again when the host is less busy")
    if not result.returncode:
        return None
    output = result.stdout.decode(errors="replace").strip().splitlines() or ["no message"]
    if result.returncode < 0:
        what = f"cc, which compiles {source.name}, was terminated by signal {-result.returncode}: {output[0]}"
        return CompilationError(what, "run the command again when the host has more free memory")
    what = f"{source.name} does not compile: cc ended with exit code {result.returncode}: {output[0]}"
    return CompilationError(what, _INSTALL_HINT)
