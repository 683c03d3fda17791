"""The session cookie of browsers that signed in, signed with a key of the service.

It has the id of a token: the sessions of people who signed in at an identity provider have tokens too, of which nobody
knows the secret. So the database decides how long a session lasts and what it allows, and admins can end it.
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

_SESSION_DAYS = 30
_KEY_BYTES = 32
"""Random bytes of the key that signs cookies, so that nobody can guess it."""
_TOKEN, _BY_PROVIDER = "token", "by-provider"


class _CookieSessions(SecureCookieSessionInterface):
    """Flask's sessions in a signed cookie; behind TLS, the cookie is sent only over TLS."""

    def __init__(self, address: str) -> None:
        self._is_behind_tls = address.startswith("https:")

    def get_cookie_secure(self, app: Flask) -> bool:
        """Send the cookie of a service behind TLS only over TLS."""
        return self._is_behind_tls or request.is_secure


def begin_session(token_id: str, *, by_provider: bool = False) -> None:
    """Begin a session with a token; whatever the cookie had before is gone.

    Parameters
    ----------
    by_provider
        Whether the token is only this session's: that of a person who signed in at an identity provider.
    """
    session.clear()
    session[_TOKEN] = token_id
    if by_provider:
        session[_BY_PROVIDER] = True


def find_session_token() -> str:
    """Return the id of the token of this session; an empty text if nobody signed in."""
    return str(session.get(_TOKEN, ""))


def is_by_provider() -> bool:
    """Return whether the person of this session signed in at an identity provider."""
    return bool(session.get(_BY_PROVIDER))


def register_sessions(app: Flask, config: Config) -> None:
    """Register the sessions of an application: their cookies are signed with a key that all its processes share."""
    app.secret_key = config.session_key or _read_or_make_key(config.home / SESSION_KEY)
    app.session_interface = _CookieSessions(config.address)
    app.config.update(
        SESSION_COOKIE_NAME="faultwatch",
        # The browser comes back from an identity provider, which is another site.
        SESSION_COOKIE_SAMESITE="Lax" if config.provider else "Strict",
        PERMANENT_SESSION_LIFETIME=timedelta(days=_SESSION_DAYS),
    )


def _read_or_make_key(file: Path) -> bytes:
    """Return the key in a file; make the file if it does not exist: the first process that does so wins."""
    with suppress(FileNotFoundError):
        return file.read_bytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    # The key is renamed only when it is on disk: a power cut must leave no empty key. A file with the new name that it
    # leaves is overwritten at the next start.
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
