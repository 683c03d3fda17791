"""Applies all rules to a profile, and sorts their findings; given an earlier profile, only those that cost more now."""

from __future__ import annotations

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest, Finding
from service.rules.diagnose import (
    compared_profiles,
    contention,
    file_windows,
    forked_memory,
    growing_buffers,
    relocations,
    returned_memory,
    shared_memory,
    storage_faults,
    thread_memory,
    zero_pages,
)
from service.rules.diagnose.difference_causes import decompose_difference
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import MIN_SAVING, Rule

RULES: tuple[Rule, ...] = (
    returned_memory.RETURNED_MEMORY,
    contention.LOCK_CONTENTION,
    contention.FIRST_TOUCH_STORM,
    contention.CONCURRENT_FIRST_USE,
    returned_memory.TEMPORARY_BUFFERS,
    file_windows.FILE_WINDOWS,
    file_windows.DROPPED_FILE,
    forked_memory.COPIES_AFTER_FORK,
    shared_memory.SHARED_MEMORY,
    growing_buffers.GROWING_BUFFER,
    zero_pages.READ_BEFORE_WRITE,
    thread_memory.THREAD_PER_TASK,
    thread_memory.MORE_ARENAS,
    relocations.RELOCATIONS,
    storage_faults.READ_AHEAD_OFF,
    storage_faults.COLD_START,
    storage_faults.MEMORY_LIMIT,
    compared_profiles.HUGE_PAGES_LOST,
    compared_profiles.HUGE_PAGES_GAINED,
    compared_profiles.LOADER,
)
"""All rules; if two rules can save equally much, the more specific one comes first."""

_MAX_TIME_ERROR = 0.1
"""Two times are compared only if the relative standard error of their ratio is at most this."""


def diagnose_profile(request: DiagnosisRequest) -> Diagnosis:
    """Return the diagnosis of a profile: the finding whose remedies can save the most time comes first.

    If there is an earlier profile, only what costs more than before is a finding, because nothing else can have caused
    the change.
    """
    facts = Facts.from_profile(request.profile, request.before)
    findings: list[Finding] = []
    for rule in RULES:
        finding = rule.evaluate(facts)
        if finding is not None and _costs_more(finding, rule, facts):
            findings.append(finding)
    findings.sort(key=lambda finding: -finding.price)
    difference = decompose_difference(facts, request.changed_lines)
    return Diagnosis(findings=tuple(findings), evidence=facts.list_lines(), difference=difference)


def _costs_more(finding: Finding, rule: Rule, facts: Facts) -> bool:
    """Return whether a finding costs more time than before the change; true if there is no earlier profile.

    It is also true if the rule itself compares with the earlier profile: its price is that of the growth alone.

    If a rule can count what it recognises, the count must have grown as well, because a share of the time also grows by
    chance, or because the rest of the work shrinks. The time before the change is then subtracted even if it was too
    short for a finding. A program of a few milliseconds has too few sampled stacks to compare times, so only the counts
    decide.
    """
    before = facts.before
    if before is None or rule.is_comparison:
        return True
    time_ratio = compute_time_ratio(before, facts)
    if rule.count is None:
        earlier_finding = rule.evaluate(before)
        return earlier_finding is None or finding.price - earlier_finding.price * time_ratio >= MIN_SAVING
    count_before, count_after = rule.count(before), rule.count(facts)
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
