"""The launcher: a small C program of ours, built once, that starts a program at a given moment."""

import hashlib
import tempfile
from functools import lru_cache
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execute import execute
from runner.settings import load_settings
from runner.state.start import BASE_VARIABLES

_SOURCE = Path(__file__).with_name("launch.c")
_PATIENCE = 60.0


def launcher() -> Path:
    """Return the launcher, built by this host's compiler unless that was done before.

    Raises
    ------
    FaultwatchError
        Where there is no C compiler, or it fails.
    """
    return _built(load_settings().home / "launcher")


@lru_cache
def _built(cache: Path) -> Path:
    source = _SOURCE.read_bytes()
    program = cache / f"launch-{hashlib.sha256(source).hexdigest()[:16]}"
    if program.exists():
        return program
    try:
        cache.mkdir(parents=True, exist_ok=True)
        # Under another name first: two runners may build it at once.
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            _compile(Path(scratch, "launch"))
            Path(scratch, "launch").rename(program)
    except OSError as error:
        raise FaultwatchError(
            f"the launcher cannot be kept in {cache}: {error.strerror}", "set FAULTWATCH_HOME to a folder of your own"
        ) from None
    return program


def _compile(program: Path) -> None:
    # Static where the C library allows it: the launcher's own memory is the least that max RSS can say.
    for options in (["-static"], []):
        try:
            done = execute(
                ["cc", "-O1", *options, "-o", str(program), str(_SOURCE)],
                directory=program.parent,
                environment=BASE_VARIABLES,
                timeout=_PATIENCE,
                merge=True,
            )
        except FileNotFoundError:
            break
        if not done.trouble:
            program.chmod(0o755)
            return
    raise FaultwatchError(
        "there is no C compiler (cc) to build the launcher with, or it fails",
        "Debian and Ubuntu: apt install gcc libc6-dev",
    )
