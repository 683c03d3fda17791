"""The settings of the identity provider at which people sign in."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from service.config.access import Access
from service.config.identity_provider import IdentityProvider
from service.config.settings import Config
from service.config.settings_list import list_settings
from service.errors import ServiceError

ADDRESS = "https://faults.example.org"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Everything that is needed."""
    secret = tmp_path / "secret"
    secret.write_text("client-secret\n")
    return {
        "FAULTWATCH_HOME": str(tmp_path),
        "FAULTWATCH_ADDRESS": ADDRESS,
        "FAULTWATCH_OIDC_ISSUER": "https://id.example.org/realms/lab/",
        "FAULTWATCH_OIDC_CLIENT": "faultwatch",
        "FAULTWATCH_OIDC_SECRET_FILE": str(secret),
        "FAULTWATCH_OIDC_GROUPS": "/perf=read+triage, a=b=admin",
    }


def test_people_sign_in_with_tokens_unless_an_issuer_is_set(environment: dict[str, str]) -> None:
    del environment["FAULTWATCH_OIDC_ISSUER"]
    config = Config.from_environment(environment)
    assert config.provider is None
    assert not config.by_token


def test_the_settings_of_a_provider_are_read(environment: dict[str, str]) -> None:
    config = Config.from_environment(environment)
    assert config.provider == IdentityProvider(
        address=ADDRESS,
        issuer="https://id.example.org/realms/lab",
        client="faultwatch",
        secret="client-secret",
        groups=(("/perf", ("read", "triage")), ("a=b", ("admin",))),
    )
    assert config.provider.claims == ("groups",)
    assert config.provider.lifetime == timedelta(hours=12)
    assert config.provider.host == "id.example.org"
    assert config.by_token, "nobody signs in to an open service"


def test_openid_is_always_requested(environment: dict[str, str]) -> None:
    environment["FAULTWATCH_OIDC_SCOPES"] = "email groups"
    provider = Config.from_environment(environment).provider
    assert provider is not None
    assert provider.requested_scopes == "openid email groups"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("FAULTWATCH_OIDC_ISSUER", "http://id.example.org"),
        ("FAULTWATCH_OIDC_ISSUER", "id.example.org"),
        ("FAULTWATCH_OIDC_ISSUER", "https://id.example.org/?x=1"),
        ("FAULTWATCH_OIDC_CLIENT", ""),
        ("FAULTWATCH_OIDC_SECRET_FILE", ""),
        ("FAULTWATCH_OIDC_SECRET_FILE", "/nowhere"),
        ("FAULTWATCH_OIDC_GROUPS", ""),
        ("FAULTWATCH_OIDC_GROUPS", "perf"),
        ("FAULTWATCH_OIDC_GROUPS", "perf="),
        ("FAULTWATCH_OIDC_GROUPS", "=read"),
        ("FAULTWATCH_OIDC_GROUPS", "perf=everything"),
        ("FAULTWATCH_OIDC_GROUPS", "perf=report"),
        ("FAULTWATCH_OIDC_GROUPS", "perf=read+register"),
        ("FAULTWATCH_OIDC_DOMAINS", "@example.org"),
        ("FAULTWATCH_OIDC_SESSION_SECONDS", "1"),
        ("FAULTWATCH_OIDC_SESSION_SECONDS", "604801"),
        ("FAULTWATCH_ADDRESS", ""),
        ("FAULTWATCH_ACCESS", "open"),
    ],
)
def test_what_is_missing_or_wrong_is_named(environment: dict[str, str], variable: str, value: str) -> None:
    environment[variable] = value
    with pytest.raises(ServiceError, match=variable):
        Config.from_environment(environment)


def test_an_issuer_on_this_machine_needs_no_tls(environment: dict[str, str]) -> None:
    environment["FAULTWATCH_OIDC_ISSUER"] = "http://localhost:5556/dex"
    environment["FAULTWATCH_ACCESS"] = Access.TOKENS
    assert Config.from_environment(environment).provider is not None


def test_the_settings_are_shown_without_the_secret(environment: dict[str, str]) -> None:
    config = Config.from_environment(environment)
    assert "client-secret" not in repr(config)
    (group,) = [group for group in list_settings(config, [], environment, "") if group.title == "User sign-in"]
    shown = {setting.variable: setting.value for setting in group.settings}
    assert shown["FAULTWATCH_OIDC_GROUPS"] == "/perf=read+triage, a=b=admin"
    assert shown["FAULTWATCH_OIDC_SECRET_FILE"] == "set, and never shown"
