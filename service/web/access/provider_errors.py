"""Why a sign-in at the identity provider fails."""

from __future__ import annotations


class SignInRefused(Exception):
    """The provider did not vouch for the person; the message says why in one line."""


class SignInNotBegun(Exception):
    """The browser has no open sign-in: it has already ended it, or another site sent it here."""


class ProviderUnavailable(Exception):
    """The provider cannot be reached, or its answer is not valid; the message says why in one line."""
