"""Chooses the host names to which the service answers: on loopback, where no token is needed, it refuses any other."""

from __future__ import annotations

import ipaddress

from service.config.loopback import LOOPBACK

DEFAULT_NAMES = tuple(name for name in LOOPBACK if ":" not in name)
"""The names to which the service answers by default. Flask's trusted hosts cannot contain IPv6 addresses."""


def add_loopback(words: object) -> object:
    """Return the configured names and those of loopback."""
    return (*DEFAULT_NAMES, *words.replace(",", " ").split()) if isinstance(words, str) else words


def list_trusted_hosts(configured_names: tuple[str, ...] | None, address: str) -> tuple[str, ...] | None:
    """Return the host names to accept; None for all.

    On loopback, where no token is needed, only configured names are accepted. Otherwise a foreign web page could point
    its own name at the service (DNS rebinding), and let the user's browser read everything. If others can reach the
    service, its names are not known, but it requires tokens, which no foreign page has.
    """
    try:
        is_public = not ipaddress.ip_address(address).is_loopback
    except ValueError:
        is_public = address != "localhost"
    return None if is_public else configured_names
