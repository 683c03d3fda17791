"""How many examples are tried: a few by ``make test``, many by ``make test-thorough``.

Tests that ask are marked ``random``, so that ``make test-thorough`` runs them. What takes long by its nature is marked
``thorough`` and waits for it as a whole.
"""

import os
from typing import TypeVar

T = TypeVar("T")


def choose(few: T, many: T) -> T:
    """Return what this session tries: few examples, or many."""
    return many if os.environ.get("FAULTWATCH_TEST_THOROUGH") else few
