"""The built site on loopback, once for all tests. ``make test-docs`` runs them; building takes seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.static_server import serve

ROOT = Path(__file__).parents[2]
ALL = os.environ.get("FAULTWATCH_TEST_DOCS") == "1"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built from the work tree."""
    if not ALL:
        pytest.skip("make test-docs builds the site")
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, "-m", "docs.site", "--folder", str(folder)], cwd=ROOT, check=True)
    return folder / "html"


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with serve(site) as address:
        yield address
