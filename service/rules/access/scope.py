"""Defines the scopes, and the scope that each request needs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Scope(StrEnum):
    """A permission. No scope includes another, except ``admin``, which includes all."""

    READ = "read"
    """See all measurements and results."""
    REPORT = "report"
    """Report measurements, and ask what to measure and what the results are."""
    TRIAGE = "triage"
    """Decide on events and silence series."""
    ORDER = "order"
    """Order measurements: a bisect, a rerun."""
    REGISTER = "register"
    """Register and remove self-hosted runners of GitHub Actions."""
    ADMIN = "admin"
    """Everything: the other scopes, and operations that no other scope covers."""


MEANINGS: Mapping[Scope, str] = {
    Scope.READ: "see all measurements and results",
    Scope.REPORT: "report measurements; read plans and results",
    Scope.TRIAGE: "decide on events and silence series",
    Scope.ORDER: "order measurements: a bisect, a rerun",
    Scope.REGISTER: "register GitHub Actions runners",
    Scope.ADMIN: "everything, including settings and tokens",
}
"""The description of each scope that people see."""


_PUBLIC_ENDPOINTS = frozenset(
    {
        "static",
        "vendor.file",
        "api.health.show",
        "definitions.show",  # a comment on a pull request links it
        "definitions.show_json",
        "definitions.show_csv",
        "access.form",
        "access.sign_in",
        "access.sign_out",
        "provider.begin",
        "provider.end",  # for a person for whom the identity provider vouches
        "api.actions.sign_in",  # for an identity that GitHub signed
        "webhooks.receive",  # for a body that a forge signed, or sent with the secret
    }
)
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_SCOPE_OF_WRITING_ENDPOINT: Mapping[str, Scope] = {
    "api.revisions.put": Scope.REPORT,
    "api.runs.put": Scope.REPORT,
    "api.runs.post": Scope.REPORT,
    "api.plans.post": Scope.REPORT,
    "api.comparisons.post": Scope.REPORT,
    "api.proofs.post": Scope.REPORT,
    "api.diagnoses.post": Scope.REPORT,
    "api.profiles.put": Scope.REPORT,
    "api.gates.base": Scope.REPORT,
    "api.gates.post": Scope.REPORT,
    "api.nightly_runs.put": Scope.REPORT,
    "api.runner_tokens.post": Scope.REGISTER,
    "api.searches.post": Scope.REPORT,
    "api.searches.post_settings": Scope.REPORT,
    "api.jobs.claim": Scope.REPORT,
    "api.jobs.progress": Scope.REPORT,
    "api.jobs.finish": Scope.REPORT,
}
"""The scope of each writing endpoint, in one place so that all can be reviewed at a glance. Others need ``admin``."""
_ORDER_PREFIXES = ("api.jobs.", "jobs.", "bisect.", "evidence.", "lab.", "api.subjects.", "subjects.", "unmeasured.")
"""Prefixes of the endpoints at which measurements are ordered."""
_ADMIN_PREFIXES = ("tokens.", "settings.", "audit.", "api.audit.")
"""Prefixes of the endpoints that only admins may see."""
_TRIAGE_PREFIXES = ("api.events.", "api.silences.", "event.", "drift.", "series.", "silences.")
"""Prefixes of the endpoints at which people make decisions; a new endpoint with such a prefix counts as a decision."""
_ANONYMOUS_PAGES = frozenset(
    {
        "overview.show",
        "event.index",
        "event.show",
        "drift.show",
        "drift_map.show",
        "drift_map.show_subject",
        "series.show",
        "workloads.index",
        "workloads.workload",
        "workloads.case",
    }
)
_ANONYMOUS_ENDPOINTS = frozenset(
    {page + form for page in _ANONYMOUS_PAGES for form in ("", "_json", "_csv")}
    | {
        "series.drawing",
        "drift_map.drawing",
        "sharing.series_level",
        "sharing.open_events",
        "live.answer_poll",
        "openapi.spec",
        "api.drifts.index",
        "api.drifts.get",
        "api.events.index",
        "api.events.get",
        "api.series.index",
        "api.series.get",
    }
)
"""The endpoints that a service with a public dashboard shows to everybody: results. Each view listed here has to pass
its content through :func:`service.web.access.public_view.redact_view_for_caller`."""


def may_read_anonymously(endpoint: str | None, method: str) -> bool:
    """Return whether a service with a public dashboard answers a request without a token."""
    return endpoint in _ANONYMOUS_ENDPOINTS and method in _SAFE_METHODS


def find_needed_scope(endpoint: str | None, method: str) -> Scope | None:
    """Return the scope that a request needs; None if anybody may send it, or no endpoint matches."""
    if endpoint is None or endpoint in _PUBLIC_ENDPOINTS:
        return None
    if endpoint.startswith(_ADMIN_PREFIXES):
        return Scope.ADMIN
    if method in _SAFE_METHODS:
        return Scope.READ
    if endpoint in _SCOPE_OF_WRITING_ENDPOINT:
        return _SCOPE_OF_WRITING_ENDPOINT[endpoint]
    if endpoint.startswith(_ORDER_PREFIXES):
        return Scope.ORDER
    return Scope.TRIAGE if endpoint.startswith(_TRIAGE_PREFIXES) else Scope.ADMIN
