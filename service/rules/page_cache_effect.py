"""Decides whether the page cache alone may be the cause of a change between two stored runs.

The number of faults in unprepared files depends on the page cache. The range of this number was measured with the page
cache renewed.
"""

from __future__ import annotations

from runner.contract.level import Number
from service.rules.same_bytes import ProgramBytes


def may_be_due_to_page_cache(change: Number, before: ProgramBytes, after: ProgramBytes) -> bool:
    """Return whether the page cache may be the only cause of a change, through faults in unprepared files.

    It cannot be if the change exceeds the range of the number of these faults, or if a bound of this range differs
    between the two sides by at least half of the change. The bounds were counted with the page cache renewed on both
    sides, so their difference comes from the program, and leaves at most half of the change to the page cache.
    """
    widest_range = max(side.max_uncertain_faults - side.min_uncertain_faults for side in (before, after))
    min_change = after.min_uncertain_faults - before.min_uncertain_faults
    max_change = after.max_uncertain_faults - before.max_uncertain_faults
    return 0 < abs(change) <= widest_range and 2 * max(abs(min_change), abs(max_change)) < abs(change)
