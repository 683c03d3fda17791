"""What the tests of real projects share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may pass."""
    made = Path(tempfile.mkdtemp(prefix="project-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)
