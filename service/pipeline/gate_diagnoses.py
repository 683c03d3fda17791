"""Explains the changed cases of a gate with their profiles."""

from __future__ import annotations

from sqlalchemy.orm import Session

from runner.contract import Report
from runner.contract.profile import Profile
from service.rules.gate.case_diagnosis import CaseDiagnosis, make_case_diagnosis
from service.rules.gate.verdict import GateOutcome
from service.store import profiles

MAX_CASES = 3
"""At most this many cases are explained, so that the comment of a gate stays short."""


def find_case_diagnoses(session: Session, outcome: GateOutcome) -> tuple[CaseDiagnosis, ...]:
    """Return the explanations of the cases that changed most, if they were profiled."""
    changed_cases = dict.fromkeys(row.case for row in outcome.list_changed_metrics())
    case_by_name = {case.name: case.case for case in outcome.cases}
    diagnoses = []
    for name in list(changed_cases)[:MAX_CASES]:
        after = _find_newest_profile(session, case_by_name[name].head)
        if after is not None:
            diagnoses.append(make_case_diagnosis(name, _find_newest_profile(session, case_by_name[name].base), after))
    return tuple(diagnoses)


def _find_newest_profile(session: Session, side: Report) -> Profile | None:
    """Return the newest profile of one side of a case, preferably in its environment; None if there is none."""
    profile_filter = profiles.ProfileFilter(side.subject, side.case.name, side.revision.commit, side.host.name)
    newest_id = profiles.find_newest_profile_id(session, profile_filter, side.environment.hash)
    return None if newest_id is None else profiles.find_profile(session, newest_id)
