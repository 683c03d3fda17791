"""Decides whether a difference has to be measured again with the page cache renewed.

Some files of a build cannot be prepared, for example because they are very large. How many faults a program takes in
such a file may depend on which parts of it the host has read before, and these may differ between the files of base and
head. So a difference is measured again, after the files were evicted from the page cache and read by one execution of
each side. The new pairs decide. Files outside of the builds do not matter, because both sides share them.
"""

from __future__ import annotations

from runner.contract import ComparisonRequest, MetricVerdict, Report, Verdict
from runner.contract.mapped_files import CacheState
from service.rules.comparison.metric_decision import COUNTS


def decide_metric_by_page_cache(verdict: MetricVerdict, request: ComparisonRequest) -> MetricVerdict:
    """Return the verdict on a metric, or a verdict that asks for pairs with the page cache renewed."""
    # A base that was measured earlier is first measured next to head.
    if verdict.verdict is not Verdict.CHANGED or verdict.rule not in COUNTS or request.base_stored:
        return verdict
    sides = (request.base, request.head)
    if not any(map(_has_unprepared, sides)):
        return verdict
    if all(side.cache_renewed for side in sides):
        sentence = (
            f"{verdict.sentence} The result is the same when the page cache is renewed for the files that could not "
            "be prepared."
        )
        return verdict.model_copy(update={"sentence": sentence})
    return verdict.model_copy(update={"needs_cache_renewal": True})


def _has_unprepared(report: Report) -> bool:
    """Return whether a file of the build could not be prepared in the page cache."""
    mapped = report.files.mapped if report.files else ()
    return any(file.in_build and file.cache is CacheState.UNPREPARED for file in mapped)
