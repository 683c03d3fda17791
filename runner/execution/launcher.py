"""The launcher: a small C program of ours, built once, that starts a program at a given moment."""

from functools import lru_cache
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.compilation import CompilationError, compile_program
from runner.settings import load_settings

_SOURCE = Path(__file__).with_name("launch.c")


def launcher() -> Path:
    """Return the launcher, built by this host's compiler unless that was done before.

    Raises
    ------
    FaultwatchError
        Where there is no C compiler, or it fails.
    """
    return _built(load_settings().programs)


@lru_cache
def _built(cache: Path) -> Path:
    try:
        # Static where the C library allows it: the launcher's own memory is the least that max RSS can say.
        return compile_program(_SOURCE, cache, options=["-static"])
    except CompilationError as error:
        raise FaultwatchError(
            f"programs cannot be launched: {error}",
            "Debian and Ubuntu: apt install gcc libc6-dev; or set FAULTWATCH_HOME to a folder of your own",
        ) from None
