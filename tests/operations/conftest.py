"""What operators do with PostgreSQL and several service machines. ``make test-operations`` runs these tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests unless they are asked for: they take minutes."""
    if os.environ.get("FAULTWATCH_TEST_OPERATIONS"):
        return
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason="only runs in make test-operations"))
