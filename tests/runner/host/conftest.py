"""The lock of a made-up host."""

from pathlib import Path

import pytest


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "lock"
    file.touch()
    return file
