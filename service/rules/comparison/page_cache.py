"""Decides whether a difference is one of the page cache. Pure.

Some files cannot be prepared: they are very large, or other programs map them. How many faults a program takes in such
a file may depend on what the host has read before. By how much, is measured: the runner evicts the files and counts
again, by the address of each fault. A difference that base shows by itself while they are renewed is no change. A
larger one is, and so is one of faults elsewhere.
"""

from __future__ import annotations

from runner.contract import ComparisonRequest, MetricVerdict, Verdict
from service.rules.comparison.decision import COUNTS
from service.text.numbers import number


def by_page_cache(verdict: MetricVerdict, request: ComparisonRequest) -> MetricVerdict:
    """Return the verdict on a metric in view of what the page cache moves in the files of base."""
    if verdict.verdict is not Verdict.CHANGED or verdict.rule not in COUNTS:
        return verdict
    base, head = (side.files and side.files.uncertain_faults for side in (request.base, request.head))
    if not base or not head or base.outside is None or base.outside != head.outside:
        return verdict
    # Head does not say how far its own counts may move: it would choose that itself.
    moved = base.most - base.least
    if abs(verdict.change or 0) > moved:
        return verdict
    sentence = (
        f"The counts differ by {number(abs(verdict.change or 0))}. Base alone differs by up to {number(moved)} while "
        "the page cache of the files that could not be prepared is renewed."
    )
    same = {"verdict": Verdict.SAME, "direction": None, "times": None, "although": "unprepared files"}
    return verdict.model_copy(update={**same, "sentence": sentence})
