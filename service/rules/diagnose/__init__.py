"""Names the pathology that a profile shows, with its evidence and what can be done. Pure.

Each rule looks at the facts of one profile, or of two where there is a state before, and returns a finding or nothing.
More than one can hold; the one that explains the largest share of the time comes first. Where none holds, the facts
that were looked at are the answer.
"""

from __future__ import annotations

from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from service.rules.diagnose import compared_profiles, contention, returned_memory, storage_faults
from service.rules.diagnose.profile_facts import Facts

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

__all__ = ["diagnose"]


def diagnose(request: DiagnosisRequest) -> Diagnosis:
    """Return what a profile shows, the weightiest finding first."""
    facts = Facts.of(request.profile)
    findings = [found for rule in RULES if (found := rule(facts)) is not None]
    if request.before is not None:
        before = Facts.of(request.before)
        findings += [found for compare in COMPARING if (found := compare(before, facts)) is not None]
    findings.sort(key=lambda finding: -finding.weight)
    return Diagnosis(findings=tuple(findings), evidence=facts.lines())
