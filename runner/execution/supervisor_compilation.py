"""Compiles the supervisor: a small C program that ends all processes that another program has started."""

import os
from functools import lru_cache
from pathlib import Path

from runner.execution.compilation import CompilationError, compile_program

_SOURCE = Path(__file__).with_name("supervisor.c")


@lru_cache
def get_supervisor(cache: Path) -> Path | None:
    """Return the compiled supervisor; None if this host cannot compile it.

    Parameters
    ----------
    cache
        The folder of compiled programs.
    """
    try:
        program = compile_program(_SOURCE, cache, options=["-static"])
    except CompilationError:
        return None
    return program if os.access(program, os.X_OK) else None
