"""Compiles the launcher: a small C program that starts another program when it is told to."""

from functools import lru_cache
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.compilation import CompilationError, compile_program
from runner.settings import load_settings

_SOURCE = Path(__file__).with_name("launcher.c")


def get_launcher() -> Path:
    """Return the launcher; compile it if the cache lacks it.

    Raises
    ------
    FaultwatchError
        There is no C compiler, or it fails.
    """
    return _build_launcher(load_settings().programs)


@lru_cache
def _build_launcher(cache: Path) -> Path:
    """Return the compiled launcher of measured programs; raise, with a remedy, if it cannot be compiled."""
    try:
        # Link it statically if possible: a program's max RSS is never less than the memory of its launcher.
        return compile_program(_SOURCE, cache, options=["-static"])
    except CompilationError as error:
        raise FaultwatchError(f"programs cannot be launched: {error}", error.remedy) from None
