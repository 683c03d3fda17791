"""Reads the secrets of files that variables name."""

from __future__ import annotations

from pathlib import Path

from service.errors import ServiceError


def read_secret(file: Path | None, variable: str) -> str:
    """Return the content of a file without white space around it.

    Raises
    ------
    ServiceError
        If no file is named, or it cannot be read.
    """
    reason = "it is not set"
    if file is not None:
        try:
            return file.expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            reason = (error.strerror or "") if isinstance(error, OSError) else "it is not text"
    remedy = "Set the variable to the path of the file."
    raise ServiceError("A file of the settings cannot be read", f"{variable}: {reason}", remedy)


def read_long_secret(file: Path | None, variable: str, shortest: int, what: str) -> bytes:
    """Return the content of a file, which has to be long enough not to be guessed.

    Raises
    ------
    ServiceError
        If no file is named, it cannot be read, or it is too short.
    """
    secret = read_secret(file, variable).encode()
    if len(secret) < shortest:
        remedy = f"Use at least {shortest} characters: `openssl rand -hex 32` generates some."
        raise ServiceError(f"{what} is too short", variable, remedy)
    return secret
