"""Reads the version of the installed Faultwatch."""

from functools import cache


@cache
def get_version() -> str:
    """Return the version of this installation, as recorded when it was installed (also from a clone)."""
    from importlib import metadata  # noqa: PLC0415 - most commands never need it, and start faster without

    return metadata.version("faultwatch")
