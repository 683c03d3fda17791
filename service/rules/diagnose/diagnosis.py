"""Applies all rules to a profile, and puts their findings in order."""

from __future__ import annotations

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from service.rules.diagnose import compared_profiles, contention, returned_memory, storage_faults
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import Rule

RULES: tuple[Rule, ...] = (
    returned_memory.RETURNED_MEMORY,
    contention.LOCK_CONTENTION,
    contention.FIRST_TOUCH_STORM,
    contention.CONCURRENT_FIRST_USE,
    returned_memory.TEMPORARY_BUFFERS,
    storage_faults.COLD_START,
    storage_faults.MEMORY_LIMIT,
    compared_profiles.HUGE_PAGES_LOST,
    compared_profiles.HUGE_PAGES_GAINED,
    compared_profiles.LOADER,
)
"""All rules. Of two rules that can save the same, the more specific one comes first."""


def diagnose_profile(request: DiagnosisRequest) -> Diagnosis:
    """Return the diagnosis of a profile: the finding whose remedy can win the most time comes first."""
    facts = Facts.from_profile(request.profile, request.before)
    findings = [finding for rule in RULES if (finding := rule.evaluate(facts)) is not None]
    findings.sort(key=lambda finding: -finding.price)
    return Diagnosis(findings=tuple(findings), evidence=facts.list_lines())
