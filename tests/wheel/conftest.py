"""The wheel, built once; an environment with it and one with the runner alone."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheel.installation import ROOT, Installation, build_wheel, install


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, or the one that FAULTWATCH_WHEEL names."""
    if named := os.environ.get("FAULTWATCH_WHEEL"):
        return Path(named)
    return build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Iterator[Installation]:
    """``faultwatch[service]``."""
    yield from _installed(wheel, "service", compiled=True)


@pytest.fixture(scope="session")
def bare(wheel: Path) -> Iterator[Installation]:
    """``faultwatch`` alone."""
    yield from _installed(wheel, "", compiled=False)


def _installed(wheel: Path, extra: str, *, compiled: bool) -> Iterator[Installation]:
    # Not a folder of pytest's: other users may not enter those.
    folder = Path(tempfile.mkdtemp(prefix="faultwatch-wheel-", dir="/var/tmp"))
    try:
        yield install(wheel, extra, folder, compiled=compiled)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
