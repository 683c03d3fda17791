"""Reads the version of the installed Faultwatch."""

from functools import cache


@cache
def get_version() -> str:
    """Return the version that this installation was built as; a clone keeps that of its own installation."""
    from importlib import metadata  # noqa: PLC0415 - most commands never need it, and start faster without

    return metadata.version("faultwatch")
