"""Caches the cost of a fault on this host, because measuring it takes longer than the rest of the canary.

The cost only gives a drift a price. No check depends on it, so it may be an hour old. It is valid for one program and
until the host reboots: with another kernel, or other mitigations, a fault has another cost.
"""

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from runner.system.scratch import make_scratch_folder
from runner.system.tree import Tree

COST_FILE = "fault-cost.json"
_MAX_AGE_SECONDS = 3600.0
"""Seconds after which a stored cost is measured again."""
_BOOT_ID = "proc/sys/kernel/random/boot_id"


def load_or_measure_cost(program: Path, measure: Callable[[], float | None]) -> float | None:
    """Return the seconds that a fault costs: the stored value, or a new measurement if that is missing or old.

    None if the cost cannot be measured. The file with the stored value is next to ``program``.
    """
    boot_id, now = Tree().read_text(_BOOT_ID), time.clock_gettime(time.CLOCK_BOOTTIME)
    cost_key = [program.name, boot_id]
    file = program.with_name(COST_FILE)
    # A missing or damaged file is replaced: any exception of reading, parsing or indexing its content means this.
    with suppress(OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        stored_cost = json.loads(file.read_bytes())
        is_recent = boot_id and 0 <= now - stored_cost["at"] < _MAX_AGE_SECONDS
        stored_seconds = float(stored_cost["seconds"])
        if stored_cost["made_for"] == cost_key and is_recent and 0 < stored_seconds < math.inf:
            return stored_seconds
    seconds = measure()
    if seconds is not None:
        # If it cannot be stored, it is measured each time.
        with suppress(OSError), make_scratch_folder(file.parent) as scratch:
            (scratch / COST_FILE).write_text(json.dumps({"made_for": cost_key, "at": now, "seconds": seconds}))
            (scratch / COST_FILE).rename(file)
    return seconds
