"""Decides whether further runs, which would confirm a drift or which a bisect needs, can be expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.orm import Session

from service.rules.expected_further_runs import CaseOnHost, describe_end_of_doubt, explain_missing_bisect
from service.rules.imported_runs import is_imported
from service.schemas.history import Drift
from service.store import environments, hosts


@dataclass(slots=True)
class FurtherRuns:
    """Answers these questions for many drifts; each host and each environment is read only once."""

    session: Session
    now: datetime
    _last_seen: dict[str, datetime | None] = field(default_factory=dict)
    _is_imported_by_hash: dict[str, bool] = field(default_factory=dict)

    def are_expected(self, drift: Drift) -> bool:
        """Return whether the host of a drift is expected to measure its case: it still reports, and has measured it."""
        return self._find_case_on_host(drift).expects_runs(self.now)

    def describe_end_of_doubt(self, drift: Drift) -> str:
        """Return what ends the doubt about an unconfirmed drift, or why nothing does; empty for confirmed drifts."""
        return describe_end_of_doubt(self._find_case_on_host(drift), self.now) if drift.evidence.wants_rerun else ""

    def explain_missing_bisect(self, drift: Drift) -> str:
        """Return why the host of a drift cannot bisect it; empty if it can, or if the results were imported."""
        return explain_missing_bisect(self._find_case_on_host(drift), self.now)

    def find_last_seen(self, host: str) -> datetime | None:
        """Return when a host ended its newest run; None if it has none."""
        if host not in self._last_seen:
            self._last_seen[host] = hosts.find_last_seen(self.session, host)
        return self._last_seen[host]

    def _find_case_on_host(self, drift: Drift) -> CaseOnHost:
        """Return the facts that decide whether further runs of a drift's case can come; they are cached."""
        hashes = {drift.environment_before, drift.environment_after}
        unread_hashes = hashes - self._is_imported_by_hash.keys()
        if unread_hashes:
            settings = environments.find_settings(self.session, unread_hashes)
            self._is_imported_by_hash |= {
                environment_hash: is_imported(settings.get(environment_hash, {})) for environment_hash in unread_hashes
            }
        has_imported_runs = any(self._is_imported_by_hash[environment_hash] for environment_hash in hashes)
        return CaseOnHost(
            drift.host,
            imported=has_imported_runs,
            last_seen=None if has_imported_runs else self.find_last_seen(drift.host),
        )
