"""Reads the settings of GitLab and Forgejo of their variables: an address, a token, and the secret of webhooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from service.config.secret_files import read_long_secret, read_secret
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
    def from_variables(
        cls, names: Variables, url: str | None, token_file: Path | None, secret_file: Path | None, address: str
    ) -> TokenForge | None:
        """Read the files of a forge; return None where no address of it is set.

        Raises
        ------
        ServiceError
            If the address is none, a file cannot be read, or the secret is too short.
        """
        if not url:
            return None
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise ServiceError("This is not the address of a forge", f"{names.url}={url}", "Write https://HOST.")
        token = read_secret(token_file, names.token_file)
        if not token or not token.isascii() or not token.isprintable():
            raise ServiceError("This file has no token", names.token_file, "Write it there, on one line.")
        secret = read_long_secret(secret_file, names.secret_file, _SHORTEST_SECRET, "The webhook's secret")
        return cls(url.rstrip("/"), token, secret, address.rstrip("/"))
