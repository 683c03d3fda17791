"""Says who has access to the service, and who issues the identities of jobs."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from service.config.trusted_hosts import DEFAULT_NAMES

GITHUB = "https://token.actions.githubusercontent.com"
"""The issuer of the identities of GitHub's own jobs."""


class Access(StrEnum):
    """Who has access to the service."""

    OPEN = "open"
    """Everybody who reaches the service may do everything."""
    TOKENS = "tokens"
    """Callers must present a token."""


def requires_tokens(access: Access | None, names: Collection[str] | None, *, has_provider: bool) -> bool:
    """Return whether callers have to sign in or present tokens; by default, if other machines can reach the service.

    This is assumed if the service has a name other than those of loopback, or if people sign in.

    Parameters
    ----------
    access
        The configured access; None for the default.
    names
        The host names to which the service answers; None for all.
    has_provider
        Whether people sign in with an identity provider.
    """
    if access is not None:
        return access is Access.TOKENS
    return has_provider or names is None or not set(names) <= set(DEFAULT_NAMES)
