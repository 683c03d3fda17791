"""Decides whether a finding costs more time than in an earlier profile."""

from __future__ import annotations

from runner.contract.diagnosis import Finding
from service.rules.diagnose.huge_page_changes import compare_huge_pages
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import MIN_SAVING, Rule

_MIN_GROWTH_SHARE = 0.2
"""What a rule counts must have grown by at least this share of the additional faults, to be what the change did."""
_MAX_TIME_ERROR = 0.1
"""Two times are compared only if the relative standard error of their ratio is at most this."""


def costs_more(finding: Finding, rule: Rule, facts: Facts) -> bool:
    """Return whether a finding costs more time than before the change; true if there is no earlier profile.

    If a rule can count what it recognises, the count must have grown as well, and explain a notable part of the
    additional faults, because a share of the time also grows by chance, or because the rest of the work shrinks. If
    huge pages were lost, each fault before the change counts as one on all small pages that replaced its page. The time
    before the change is then subtracted even if it was too short for a finding. A program of a few milliseconds has too
    few sampled stacks to compare times, so only the counts decide. A rule that itself compares with the earlier profile
    has the price of the growth alone, so that only its count is compared.
    """
    before = facts.before
    if before is None:
        return True
    count_before = count_after = 0.0
    if rule.count is not None:
        faults_per_fault = facts.pages_per_huge_page if compare_huge_pages(before, facts) < 0 else 1
        count_before, count_after = rule.count(before) * faults_per_fault, rule.count(facts)
        if count_after - count_before < _MIN_GROWTH_SHARE * (facts.faults - before.faults):
            return False
    if rule.is_comparison:
        return True
    time_ratio = compute_time_ratio(before, facts)
    if rule.count is None:
        earlier_finding = rule.evaluate(before)
        return earlier_finding is None or finding.price - earlier_finding.price * time_ratio >= MIN_SAVING
    price_of_growth = finding.price * (count_after - count_before) / count_after if count_after else 0.0
    earlier_price = (rule.max_saving(before) or 0.0) * time_ratio if count_before else 0.0
    if before.operations and facts.operations and _estimate_time_error(before, facts) > _MAX_TIME_ERROR:
        return price_of_growth >= MIN_SAVING
    return min(price_of_growth, finding.price - earlier_price) >= MIN_SAVING


def _estimate_time_error(before: Facts, after: Facts) -> float:
    """Return the relative standard error of the ratio of two sampled times, whose sample counts are Poisson."""
    counts = [side.profile.on_cpu.samples if side.profile.on_cpu else 0 for side in (before, after)]
    return sum(1 / count for count in counts) ** 0.5 if all(counts) else 0.0


def compute_time_ratio(before: Facts, after: Facts) -> float:
    """Return the CPU time of an operation before the change, divided by that after it.

    A share of the time before, multiplied by this ratio, is a share of the time after. The ratio is 1 if operations are
    unknown, because a longer time may then mean more work of every kind.
    """
    if not before.operations or not after.operations:
        return 1.0
    seconds = after.cpu_seconds / after.operations
    return before.cpu_seconds / before.operations / seconds if seconds else 1.0
