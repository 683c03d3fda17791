"""How many random examples are tried: a few by ``make test``, many by ``make test-thorough``."""

import os


def choose(few: int, many: int) -> int:
    """Return the number of examples that this session tries."""
    return many if os.environ.get("FAULTWATCH_TEST_THOROUGH") else few
