"""How many random examples are tried: a few by ``make test``, many by ``make test-thorough``.

Tests that ask are marked ``random``, so that ``make test-thorough`` runs them. What takes long by its nature is marked
``thorough`` and waits for it as a whole.
"""

import os


def choose(few: int, many: int) -> int:
    """Return the number of examples that this session tries."""
    return many if os.environ.get("FAULTWATCH_TEST_THOROUGH") else few
