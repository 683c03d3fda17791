"""Applies all rules to a profile, and sorts their findings; given an earlier profile, only those that cost more now."""

from __future__ import annotations

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest, Finding
from service.rules.diagnose import (
    contention,
    file_windows,
    forked_memory,
    growing_buffers,
    huge_page_changes,
    node_placement,
    relocations,
    returned_memory,
    shared_memory,
    start_changes,
    storage_faults,
    thread_memory,
    zero_pages,
)
from service.rules.diagnose.added_cost import costs_more
from service.rules.diagnose.altered_definitions import relate_to_definitions
from service.rules.diagnose.changed_line_text import add_changed_code
from service.rules.diagnose.difference_causes import decompose_difference
from service.rules.diagnose.memory_policy import relate_to_policy
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.resized_types import relate_to_types
from service.rules.diagnose.rule import Rule
from service.rules.diagnose.tail_calls import insert_tail_callers

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
    node_placement.NUMA_BALANCING,
    thread_memory.THREAD_PER_TASK,
    thread_memory.MORE_ARENAS,
    relocations.RELOCATIONS,
    storage_faults.READ_AHEAD_OFF,
    storage_faults.COLD_START,
    storage_faults.MEMORY_LIMIT,
    huge_page_changes.HUGE_PAGES_LOST,
    huge_page_changes.HUGE_PAGES_GAINED,
    huge_page_changes.HUGE_PAGES_CLEARED,
    start_changes.LOADER,
)
"""All rules; if two rules can save equally much, the more specific one comes first."""


def diagnose_profile(request: DiagnosisRequest) -> Diagnosis:
    """Return the diagnosis of a profile: the finding whose remedies can save the most time comes first.

    If there is an earlier profile, only what costs more than before is a finding, because nothing else can have caused
    the change.
    """
    profile = request.profile
    if request.before is not None:
        profile = insert_tail_callers(profile, request.before, request.changed_calls)
    facts = Facts.from_profile(profile, request.before)
    findings: list[Finding] = []
    for rule in RULES:
        finding = rule.evaluate(facts)
        if finding is not None and costs_more(finding, rule, facts):
            findings.append(finding)
    findings.sort(key=lambda finding: -finding.price)
    difference = decompose_difference(facts, request.changed_lines, request.removed_lines)
    if difference is not None:
        difference = relate_to_definitions(difference, facts, request)
        difference = relate_to_types(difference, facts, request.changed_definitions)
        difference = relate_to_policy(difference, request)
        difference = add_changed_code(difference, request.changed_code)
    return Diagnosis(findings=tuple(findings), evidence=facts.list_lines(), difference=difference)
