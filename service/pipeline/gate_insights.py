"""Reads what profiles show of the cases that a gate found changed."""

from __future__ import annotations

from sqlalchemy.orm import Session

from runner.contract import Report
from runner.contract.profile import Profile
from service.rules.gate.insight import Insight, insight
from service.rules.gate.verdict import Finding
from service.store import profiles

MOST = 3
"""Cases of which something is told."""


def find(session: Session, finding: Finding) -> tuple[Insight, ...]:
    """Return what is known of the cases that changed most, as far as they were profiled."""
    changed = dict.fromkeys(row.case for row in finding.changed())
    by_name = {one.name: one.case for one in finding.cases}
    found = []
    for name in list(changed)[:MOST]:
        after = _newest(session, by_name[name].head)
        if after is not None:
            found.append(insight(name, _newest(session, by_name[name].base), after))
    return tuple(found)


def _newest(session: Session, side: Report) -> Profile | None:
    asked = profiles.ProfileFilter(side.subject, side.case.name, side.revision.commit, side.host.name)
    newest = profiles.newest(session, asked, side.environment.hash)
    return None if newest is None else profiles.find(session, newest)
