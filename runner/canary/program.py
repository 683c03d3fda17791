"""The canary's program: built once from its source, and kept."""

import hashlib
import tempfile
from pathlib import Path

from runner.environment import compilers
from runner.execute import execute
from runner.state.start import BASE_VARIABLES

_SOURCES = Path(__file__).parent
_PATIENCE = 60.0


class NoProgram(Exception):
    """The canary cannot be built; says why."""


def build(cache: Path) -> Path:
    """Return the folder that holds the canary, built by this host's compiler unless that was done before.

    Raises
    ------
    NoProgram
        Where there is no compiler, or it fails.
    """
    compiler = compilers.version("cc")
    if compiler is None:
        raise NoProgram("there is no C compiler to build the canary with (cc)")
    sources = [_SOURCES / name for name in ("canary.c", "faultwatch_region.h")]
    made_of = [compiler.encode(), *(source.read_bytes() for source in sources)]
    folder = cache / hashlib.sha256(b"\0".join(made_of)).hexdigest()[:16]
    if (folder / "canary").exists():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Under another name first: two sessions may build it at once.
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _compile(sources[0], Path(scratch, "canary"))
            Path(scratch, "canary").rename(folder / "canary")
    except OSError as error:
        raise NoProgram(f"the canary cannot be kept in {folder}: {error.strerror}") from None
    return folder


def _compile(source: Path, program: Path) -> None:
    done = execute(
        ["cc", "-O1", "-o", str(program), str(source)],
        directory=program.parent,
        environment=BASE_VARIABLES,
        timeout=_PATIENCE,
        merge=True,
    )
    if done.trouble:
        said = done.output.strip().splitlines()
        raise NoProgram(f"the canary does not build: cc {done.trouble}: {said[0] if said else 'it said nothing'}")
