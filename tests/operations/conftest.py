"""What operators do with PostgreSQL and several service machines. ``make test-operations`` runs these tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests unless they are asked for: they take minutes."""
    if os.environ.get("FAULTWATCH_TEST_OPERATIONS"):
        return
    folder = f"{Path(__file__).parent}{os.sep}"  # a comparison of paths would take a second for all tests
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.skip(reason="only runs in make test-operations"))
