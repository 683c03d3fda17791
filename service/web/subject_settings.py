"""Changes the settings of a subject, for both the API and the pages."""

from __future__ import annotations

from service.jobs.extension import find_scheduler
from service.schemas.audit import AuditAction
from service.schemas.triage import SubjectChange, SubjectEntry
from service.store import subjects
from service.web.access import audit_log, token_limits_and_ownership
from service.web.app_resources import get_database


def change_settings(name: str, settings: SubjectChange, author: str) -> SubjectEntry | None:
    """Change the settings of a subject and record the author in the audit log; return None without such a subject.

    Raises
    ------
    ProblemError
        403, where the caller's token is limited to other subjects, or is limited to hosts: the settings let the
        service order jobs from any host.
    """
    token_limits_and_ownership.require_access_to_subject(name, None)
    with get_database().writing() as session:
        before = subjects.find_subject_entry(session, name)
        after = subjects.set_bisect_policy(session, name, settings.bisect_policy)
        if before is None or after is None:
            return None
        if after != before:
            detail = {"bisect policy": after.bisect_policy.value, "before": before.bisect_policy.value}
            audit_log.record_action(session, AuditAction.SUBJECT_CHANGED, f"subject {name}", detail, author)
    find_scheduler().wake()
    return after
