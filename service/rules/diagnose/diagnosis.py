"""Applies all rules to a profile, and puts their findings in order. Pure."""

from __future__ import annotations

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from service.rules.diagnose import compared_profiles, contention, returned_memory, storage_faults
from service.rules.diagnose.profile_numbers import Facts

RULES = (
    returned_memory.returned_memory,
    returned_memory.temporary_buffers,
    contention.lock_contention,
    contention.first_touch_storm,
    contention.concurrent_first_use,
    storage_faults.cold_start,
    storage_faults.memory_limit,
)
COMPARING = (compared_profiles.huge_pages, compared_profiles.loader)


def diagnose(request: DiagnosisRequest) -> Diagnosis:
    """Return the diagnosis of a profile, the weightiest finding first."""
    facts = Facts.of(request.profile)
    findings = [finding for rule in RULES if (finding := rule(facts)) is not None]
    if request.before is not None:
        before = Facts.of(request.before)
        findings += [finding for compare in COMPARING if (finding := compare(before, facts)) is not None]
    findings.sort(key=lambda finding: -finding.weight)
    return Diagnosis(findings=tuple(findings), evidence=facts.lines())
