"""What proves a token, and what of one may be shown."""

from __future__ import annotations

from service.rules.access.token import PresentedToken, is_proven, redact_tokens

SHOWN = PresentedToken("0" * 12, "s" * 43)


def test_nothing_proves_an_unknown_token() -> None:
    assert is_proven(SHOWN, SHOWN.digest)
    assert not is_proven(SHOWN, None)
    assert not is_proven(None, SHOWN.digest)
    assert not is_proven(None, None)


def test_a_text_is_shown_without_the_secrets_in_it() -> None:
    assert redact_tokens(f"use {SHOWN.text}.") == "use fw_000000000000_…."
    assert redact_tokens("no token") == "no token"
