"""Reads the settings of GitLab and Forgejo from the environment: an address, a token, and the secret of webhooks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from service.errors import ServiceError

_SHORTEST_SECRET = 16


@dataclass(frozen=True, slots=True)
class Variables:
    """The environment variables of a forge."""

    url: str
    token_file: str
    secret_file: str


GITLAB = Variables("FAULTWATCH_GITLAB_URL", "FAULTWATCH_GITLAB_TOKEN_FILE", "FAULTWATCH_GITLAB_SECRET_FILE")
FORGEJO = Variables("FAULTWATCH_FORGEJO_URL", "FAULTWATCH_FORGEJO_TOKEN_FILE", "FAULTWATCH_FORGEJO_SECRET_FILE")


@dataclass(frozen=True)
class TokenForge:
    """A forge at which the service is a user with a token.

    Attributes
    ----------
    url
        Its address, without a path of the API.
    token
        With which the service calls it.
    secret
        With which the forge proves that it sent a webhook.
    address
        Address at which people reach this service, for links; empty where they cannot.
    """

    url: str
    token: str = field(repr=False)
    secret: bytes = field(repr=False)
    address: str = ""

    @classmethod
    def from_environment(cls, variables: Variables, environment: Mapping[str, str] = os.environ) -> TokenForge | None:
        """Read the variables of a forge, and FAULTWATCH_ADDRESS; return None where no address of it is set."""
        url = (environment.get(variables.url) or "").rstrip("/")
        if not url:
            return None
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise ServiceError("This is not the address of a forge", f"{variables.url}={url}", "Write https://HOST.")
        token = _file(environment, variables.token_file)
        if not token or not token.isascii() or not token.isprintable():
            raise ServiceError("This file has no token", variables.token_file, "Write it there, on one line.")
        secret = _file(environment, variables.secret_file).encode()
        if len(secret) < _SHORTEST_SECRET:
            remedy = f"Use at least {_SHORTEST_SECRET} characters: `openssl rand -hex 32` generates some."
            raise ServiceError("The webhook's secret is too short", variables.secret_file, remedy)
        return cls(url, token, secret, (environment.get("FAULTWATCH_ADDRESS") or "").rstrip("/"))


def _file(environment: Mapping[str, str], name: str) -> str:
    try:
        return Path(environment.get(name) or "").expanduser().read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        remedy = "Set the variable to the path of the file."
        raise ServiceError("A file of the settings cannot be read", f"{name}: {reason}", remedy) from None
