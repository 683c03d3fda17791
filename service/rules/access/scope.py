"""What a caller may do, and which of it a request needs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Scope(StrEnum):
    """One thing that a caller may do. None holds another, but for ``admin``, which holds all."""

    READ = "read"
    """See everything that was measured and found."""
    REPORT = "report"
    """Hand over what was measured, and ask what is to be measured and what came of it."""
    TRIAGE = "triage"
    """Decide about events, and silence series."""
    ORDER = "order"
    """Order measurements: a bisect, a rerun."""
    REGISTER = "register"
    """Let self-hosted runners of GitHub Actions in, and out."""
    ADMIN = "admin"
    """All of that, and everything that is not listed."""


MEANINGS: Mapping[Scope, str] = {
    Scope.READ: "see everything that was measured and found",
    Scope.REPORT: "hand over what was measured, ask what to measure and what came of it",
    Scope.TRIAGE: "decide about events, silence series",
    Scope.ORDER: "order measurements: a bisect, a rerun",
    Scope.REGISTER: "let runners of GitHub Actions register",
    Scope.ADMIN: "all of that, and what no other scope names: settings, tokens",
}
"""What people are told of each."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request."""

    name: str
    scopes: frozenset[Scope]
    repository: str | None = None
    """The only one that a job of GitHub Actions may report about."""
    token_id: str | None = None
    """By which token; None where none was asked for."""

    def may(self, needed: Scope) -> bool:
        """Whether the caller has a scope."""
        return needed in self.scopes or Scope.ADMIN in self.scopes


LOCAL = Caller("local", frozenset(Scope))
"""Whoever reaches a service that only answers on loopback."""

_PUBLIC = frozenset(
    {
        "static",
        "vendor.file",
        "api.health.show",
        "access.form",
        "access.sign_in",
        "access.sign_out",
        "api.actions.sign_in",  # for an identity that GitHub signed
        "github.webhook",  # for a body that GitHub signed
    }
)
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITING: Mapping[str, Scope] = {
    "api.revisions.put": Scope.REPORT,
    "api.runs.put": Scope.REPORT,
    "api.runs.post": Scope.REPORT,
    "api.plans.post": Scope.REPORT,
    "api.comparisons.post": Scope.REPORT,
    "api.diagnoses.post": Scope.REPORT,
    "api.profiles.put": Scope.REPORT,
    "api.gates.base": Scope.REPORT,
    "api.gates.post": Scope.REPORT,
    "api.nights.put": Scope.REPORT,
    "api.runner_tokens.post": Scope.REGISTER,
    "api.searches.post": Scope.REPORT,
    "api.searches.post_knobs": Scope.REPORT,
    "api.jobs.claim": Scope.REPORT,
    "api.jobs.progress": Scope.REPORT,
    "api.jobs.finish": Scope.REPORT,
}
"""By endpoint, in one place, so that all of it can be checked at a glance. What is missing here is for admins alone."""
_ORDERS = ("api.jobs.", "jobs.", "bisect.", "evidence.")
_ADMIN = ("tokens.", "settings.")
"""What admins alone may see."""
_TRIAGE = ("api.events.", "api.silences.", "event.", "drift.", "series.", "silences.")
"""Where people decide. Whatever else such a noun will let them write is a decision too."""


def needed_scope(endpoint: str | None, method: str) -> Scope | None:
    """Return what a request needs; None where anybody may send it, also where there is nothing at its address."""
    if endpoint is None or endpoint in _PUBLIC:
        return None
    if endpoint.startswith(_ADMIN):
        return Scope.ADMIN
    if method in _READING:
        return Scope.READ
    if endpoint in _WRITING:
        return _WRITING[endpoint]
    if endpoint.startswith(_ORDERS):
        return Scope.ORDER
    return Scope.TRIAGE if endpoint.startswith(_TRIAGE) else Scope.ADMIN
