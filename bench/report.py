"""How a benchmark ends: a table for people was printed, then one line of JSON for machines."""

import json
import sys
from collections.abc import Mapping, Sequence


def finish(name: str, misses: Sequence[str], figures: Mapping[str, object]) -> None:
    """Print the last line and leave with exit code 1 where something does not hold."""
    for miss in misses:
        print(f"does not hold: {miss}")
    print(json.dumps({"bench": name, "holds": not misses, "misses": list(misses), "figures": dict(figures)}))
    sys.exit(1 if misses else 0)
