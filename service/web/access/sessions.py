"""The session cookie of browsers, signed with a key of the service.

The cookie contains the id of a token. People who signed in at an identity provider get a token too, whose secret nobody
knows. The database therefore decides how long a session lasts and what it allows, and admins can end it by revoking the
token.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from flask import Flask, request, session
from flask.sessions import SecureCookieSessionInterface

from service.config.settings import SESSION_KEY, Config
from service.durable_files import sync_folder
from service.errors import ServiceError

_SESSION_DAYS = 30
_KEY_BYTES = 32
"""Random bytes in the key that signs cookies."""
_TOKEN, _BY_PROVIDER = "token", "by-provider"


class _CookieSessions(SecureCookieSessionInterface):
    """Flask's sessions in a signed cookie; behind TLS, the cookie is sent only over TLS."""

    def __init__(self, address: str) -> None:
        self._is_behind_tls = address.startswith("https:")

    def get_cookie_secure(self, app: Flask) -> bool:
        """Return whether the cookie may be sent only over TLS: if the service is behind TLS."""
        return self._is_behind_tls or request.is_secure


def begin_session(token_id: str, *, by_provider: bool = False) -> None:
    """Begin a session with a token, and discard the previous content of the cookie.

    Parameters
    ----------
    by_provider
        Whether the person signed in at an identity provider, so that the token belongs to this session only.
    """
    session.clear()
    session[_TOKEN] = token_id
    if by_provider:
        session[_BY_PROVIDER] = True


def find_session_token() -> str:
    """Return the id of the token of this session; empty if nobody signed in."""
    return str(session.get(_TOKEN, ""))


def is_by_provider() -> bool:
    """Return whether the person of this session signed in at an identity provider."""
    return bool(session.get(_BY_PROVIDER))


def register_sessions(app: Flask, config: Config) -> None:
    """Register the sessions of an application: their cookies are signed with a key that all its processes share.

    Raises
    ------
    ServiceError
        If the file of the key in the data folder was cut off.
    """
    app.secret_key = config.session_key or _read_sufficient_key(config.home / SESSION_KEY)
    app.session_interface = _CookieSessions(config.address)
    app.config.update(
        SESSION_COOKIE_NAME="faultwatch",
        # The browser comes back from an identity provider, which is another site.
        SESSION_COOKIE_SAMESITE="Lax" if config.provider else "Strict",
        PERMANENT_SESSION_LIFETIME=timedelta(days=_SESSION_DAYS),
    )


def _read_sufficient_key(file: Path) -> bytes:
    """Return the key in a file, which is made if it does not exist; raise ServiceError if it can be guessed."""
    key = _read_or_create_key(file)
    if len(key) < _KEY_BYTES:
        remedy = "Delete the file: the service makes a new one, and everybody has to sign in again."
        raise ServiceError("The session key is too short", str(file), remedy)
    return key


def _read_or_create_key(file: Path) -> bytes:
    """Return the key in a file. If it does not exist, make it once, however many processes start together."""
    with suppress(FileNotFoundError):
        return file.read_bytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    # The key is renamed only when it is on disk, so that a power cut leaves no empty key. A `.new` file that was left
    # behind is overwritten at the next start.
    new_file = file.with_name(f".{file.name}.new")
    with os.fdopen(os.open(new_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if file.exists():  # Another process made the key while this one waited for the lock.
            new_file.unlink(missing_ok=True)
        else:
            stream.truncate()
            stream.write(secrets.token_bytes(_KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
            new_file.rename(file)
            sync_folder(file.parent)
    return file.read_bytes()
