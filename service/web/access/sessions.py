"""The session cookie of browsers that signed in, signed with a key of the service."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from flask import Flask, request
from flask.sessions import SecureCookieSessionInterface

from service.config.settings import SESSION_KEY, Config
from service.durable_files import sync_folder

_SESSION_DAYS = 30


class _Sessions(SecureCookieSessionInterface):
    def get_cookie_secure(self, app: Flask) -> bool:
        """Send the cookie of a service behind TLS only over TLS."""
        return request.is_secure


def register_sessions(app: Flask, config: Config) -> None:
    """Register the sessions of an application: their cookies are signed with a key that all its processes share."""
    app.secret_key = config.session_key or _read_or_make_key(config.home / SESSION_KEY)
    app.session_interface = _Sessions()
    app.config.update(
        SESSION_COOKIE_NAME="faultwatch",
        SESSION_COOKIE_SAMESITE="Strict",
        PERMANENT_SESSION_LIFETIME=timedelta(days=_SESSION_DAYS),
    )


def _read_or_make_key(file: Path) -> bytes:
    """Read the key, or make one; the first process to make one wins."""
    with suppress(FileNotFoundError):
        return file.read_bytes()
    file.parent.mkdir(parents=True, exist_ok=True)
    # A power cut must leave no empty key. If it leaves this file, the next start uses it.
    new_file = file.with_name(f".{file.name}.new")
    with os.fdopen(os.open(new_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "wb") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        if file.exists():
            new_file.unlink(missing_ok=True)
        else:
            stream.truncate()
            stream.write(secrets.token_bytes(32))
            stream.flush()
            os.fsync(stream.fileno())
            new_file.rename(file)
            sync_folder(file.parent)
    return file.read_bytes()
