"""Reads the settings of the identity provider at which people sign in, and what their groups may do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from runner.contract.word_list import join_words
from service.config.loopback import LOOPBACK
from service.config.setting_fields import BaseAddress, Seconds, SecretFile, Words, declare_setting
from service.config.settings_from_environment import Settings
from service.errors import ServiceError

SESSION_LIFETIME = timedelta(hours=12)
"""The default lifetime of a sign-in: a working day. Changes of a person's groups take effect at the next sign-in."""
SCOPES_OF_PEOPLE = ("read", "triage", "order", "admin")
"""The scopes that can be assigned to groups. The others are only for the tokens of machines, which have limits."""
_Groups = tuple[tuple[str, tuple[str, ...]], ...]


def _parse_groups(words: object) -> object:
    if not isinstance(words, str):
        return words
    return tuple(map(_parse_assignment, words.replace(",", " ").split()))


def _parse_assignment(word: str) -> tuple[str, tuple[str, ...]]:
    """Return the group and the scopes that ``group=scope+scope`` assigns to it."""
    group, _, assigned = word.rpartition("=")
    scopes = tuple(assigned.split("+"))
    if not group or not set(scopes) <= set(SCOPES_OF_PEOPLE):
        remedy = f"Write group=scope or group=scope+scope; the scopes are {join_words(SCOPES_OF_PEOPLE)}."
        raise ServiceError("An entry does not assign scopes to a group", f"FAULTWATCH_OIDC_GROUPS: {word}", remedy)
    return group, scopes


def _check_issuer(issuer: str) -> str:
    """Return an issuer; raise if the client secret would be sent to it unencrypted."""
    parts = urlsplit(issuer)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise ValueError("not https")
    return issuer


def _check_domains(domains: tuple[str, ...]) -> tuple[str, ...]:
    """Return domains in lower case; raise if one is not valid."""
    for domain in domains:
        if not re.fullmatch(r"[A-Za-z0-9.-]+\.[A-Za-z0-9-]+", domain):
            prefix = f"FAULTWATCH_OIDC_DOMAINS: {domain}"
            raise ServiceError("Not a domain", prefix, "Write only the part after the @, such as example.org.")
    return tuple(domain.lower() for domain in domains)


class IdentityProvider(Settings):
    """The identity provider at which people sign in, by OpenID Connect."""

    heading, guide = "User sign-in", "Who may do what"
    disabled_text = "People sign in with tokens: FAULTWATCH_OIDC_ISSUER is not set."
    switch: ClassVar[str] = "FAULTWATCH_OIDC_ISSUER"

    address: BaseAddress = ""
    """The address at which people reach this service. The provider sends them back there."""
    issuer: Annotated[BaseAddress, AfterValidator(_check_issuer)] = declare_setting(
        switch, "Issuer", default_text="none: people sign in with tokens", unit="`https://HOST` or `https://HOST/PATH`"
    )
    """The address of the identity provider. Its description is read from `/.well-known/openid-configuration` below."""
    client: str = declare_setting("FAULTWATCH_OIDC_CLIENT", "Client", "", default_text="required if an issuer is set")
    """This service's id at the provider."""
    secret: Annotated[str, SecretFile("The client secret", is_token=True)] = declare_setting(
        "FAULTWATCH_OIDC_SECRET_FILE", "Client secret", default_text="required if an issuer is set", repr=False
    )
    """The file with this service's secret at the provider."""
    groups: Annotated[_Groups, NoDecode, BeforeValidator(_parse_groups)] = declare_setting(
        "FAULTWATCH_OIDC_GROUPS",
        "Groups",
        (),
        default_text="required if an issuer is set",
        unit="words",
        format_shown=lambda provider: ", ".join(f"{group}={'+'.join(scopes)}" for group, scopes in provider.groups),
    )
    """What the members of a group may do: `group=read+triage`. A person in several groups has the scopes of all."""
    claims: Annotated[Words, AfterValidator(lambda claims: claims or ("groups",))] = declare_setting(
        "FAULTWATCH_OIDC_CLAIMS", "Claims", ("groups",), unit="words"
    )
    """The claims that name a person's groups. `email` counts only if the provider has verified it."""
    domains: Annotated[Words, AfterValidator(_check_domains)] = declare_setting(
        "FAULTWATCH_OIDC_DOMAINS", "E-mail domains", (), default_text="any", unset_text="any", unit="words"
    )
    """A person needs a verified e-mail address in one of these domains."""
    scopes: Words = declare_setting(
        "FAULTWATCH_OIDC_SCOPES",
        "Requested scopes",
        ("openid", "profile", "email"),
        default_text="`openid profile email`",
        unit="words",
    )
    """The scopes that the service requests of the provider. `openid` is always among them."""
    lifetime: Annotated[Seconds, Field(ge=timedelta(minutes=5), le=timedelta(days=7))] = declare_setting(
        "FAULTWATCH_OIDC_SESSION_SECONDS",
        "Session",
        SESSION_LIFETIME,
        unit="a number of seconds, 300 to 604800",
        format_shown=lambda provider: f"{provider.lifetime.total_seconds():.0f} s",
    )
    """The time after which a person has to sign in again. Only then do changes of the person's groups take effect."""

    @model_validator(mode="after")
    def _require_all_settings(self) -> Self:
        """Check that all settings are present that are needed for people to sign in."""
        if not self.address:
            remedy = "Set it to the address at which people reach this service; the provider sends them back there."
            raise ServiceError("Sign-in needs the address of this service", "FAULTWATCH_ADDRESS is not set", remedy)
        if not self.client:
            remedy = "Set it to the client id that the identity provider shows for this service."
            raise ServiceError("Sign-in needs a client id", "FAULTWATCH_OIDC_CLIENT is not set", remedy)
        if not self.groups:
            remedy = "Assign scopes to at least one group: group=read+triage."
            raise ServiceError("Nobody could sign in", "FAULTWATCH_OIDC_GROUPS is not set", remedy)
        return self

    @classmethod
    def read_if_enabled(cls, environment: Mapping[str, str], address: str) -> IdentityProvider | None:
        """Return the identity provider; None if no issuer is set, so that people sign in with tokens.

        Raises
        ------
        ServiceError
            If a value is not valid or missing, or the file cannot be read.
        """
        return cls.read(environment, address=address) if environment.get(cls.switch) else None

    @property
    def host(self) -> str:
        """The host name of the provider, for human readers."""
        return urlsplit(self.issuer).netloc

    @property
    def requested_scopes(self) -> str:
        """The scopes that the service requests from the provider, separated by spaces."""
        return " ".join(dict.fromkeys(("openid", *self.scopes)))
