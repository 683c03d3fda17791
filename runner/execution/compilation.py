"""Small C programs of our own: built once by this host's compiler, and kept."""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from runner.execution.execute import execute
from runner.execution.start_block import BASE_VARIABLES

_PATIENCE = 60.0


class CompilationError(Exception):
    """There is no program; says why."""


def compile_program(source: Path, cache: Path, *, headers: Sequence[Path] = (), options: Sequence[str] = ()) -> Path:
    """Return the program of a source file, built unless it was before.

    Parameters
    ----------
    cache
        The folder in which programs are kept.
    headers
        What the source includes of ours, beside it.
    options
        Of the compiler, left out where it does not take them.

    Raises
    ------
    NotCompiled
        Where there is no compiler, it fails, or its program cannot be kept.
    """
    made_of = b"\0".join(file.read_bytes() for file in (source, *headers))
    program = cache / f"{source.stem}-{hashlib.sha256(made_of).hexdigest()[:16]}"
    if program.exists():
        return program
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Under another name first: two runners may build it at once.
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            made = Path(scratch, source.stem)
            trouble = _compile(source, made, options) and _compile(source, made, ())
            if trouble:
                raise CompilationError(trouble)
            made.chmod(0o755)
            made.rename(program)
    except OSError as error:
        raise CompilationError(f"{program} cannot be kept: {error.strerror}") from None
    return program


def _compile(source: Path, program: Path, options: Sequence[str]) -> str:
    """Compile; return why that failed, empty where it did not."""
    try:
        done = execute(
            ["cc", "-O1", *options, "-o", str(program), str(source)],
            directory=program.parent,
            environment=BASE_VARIABLES,
            timeout=_PATIENCE,
            merge=True,
        )
    except FileNotFoundError:
        return f"there is no C compiler (cc) to build {source.name} with"
    said = done.output.strip().splitlines()
    return f"{source.name} does not build: cc {done.trouble}: {said[0] if said else ''}" if done.trouble else ""
