"""Defines the caller of a request: its scopes and the limits of its token."""

from __future__ import annotations

from dataclasses import dataclass

from service.rules.access.scope import Scope
from service.rules.access.token_limits import NO_LIMITS, TokenLimits


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request."""

    name: str
    scopes: frozenset[Scope]
    repository: str | None = None
    """The only repository that a job of GitHub Actions may report on; None for other callers."""
    token_id: str | None = None
    """The token that the caller presented; None if the service requires none."""
    limits: TokenLimits = NO_LIMITS

    @property
    def holder(self) -> str | None:
        """The name under which the caller holds leases: the token; for CI jobs, whose tokens change, the repository.

        None if the service requires no tokens.
        """
        return self.repository or self.token_id

    def may(self, scope: Scope) -> bool:
        """Return whether the caller has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


LOCAL = Caller("local", frozenset(Scope))
"""The caller of every request to a service that listens only on loopback."""
