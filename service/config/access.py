"""Says who has access to the service, and who issues the identities of jobs."""

from __future__ import annotations

from enum import StrEnum

GITHUB = "https://token.actions.githubusercontent.com"
"""The issuer of the identities of GitHub's own jobs."""


class Access(StrEnum):
    """Who has access to the service."""

    OPEN = "open"
    """Everybody who reaches the service may do everything."""
    TOKENS = "tokens"
    """Callers must present a token."""
