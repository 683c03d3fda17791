"""Why a sign-in at the identity provider fails."""

from __future__ import annotations


class SignInRefused(Exception):
    """The provider did not vouch for the person; the message says why in one line."""


class SignInNotBegun(Exception):
    """The browser has not begun the sign-in that it ends: it ended it before, or another site sent it here."""


class ProviderUnavailable(Exception):
    """The provider cannot be reached, or answers what it should not; the message says so in one line."""
