"""Decides how long a client has to wait after failed sign-ins, which slows down guessing."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

WINDOW = timedelta(minutes=15)
"""For how long a failed sign-in counts."""
MAX_FAILURES_PER_ADDRESS = 10
"""After this many failed sign-ins of one address within the window, its credentials are not checked."""
MAX_FAILURES = 100
"""After this many failed sign-ins of all addresses within the window, wrong credentials are not even counted."""


def count_seconds_to_wait(failures: Sequence[datetime], max_failures: int, now: datetime) -> int:
    """Return in how many seconds another attempt is allowed; 0 if it is now.

    Parameters
    ----------
    failures
        The times of failed attempts.
    max_failures
        Number of failures within the window after which attempts have to wait.
    """
    recent_failures = sorted(failed_at for failed_at in failures if failed_at > now - WINDOW)
    if len(recent_failures) < max_failures:
        return 0
    # Once this failure expires, fewer than max_failures count.
    last_to_expire = recent_failures[len(recent_failures) - max_failures]
    # Rounded up: a client that waits exactly as long is not refused once more.
    return max(1, math.ceil((last_to_expire + WINDOW - now).total_seconds()))


def normalise_address(address: str) -> str:
    """Return the part of an address that identifies a client: for IPv6, the network (the first 64 bits).

    All texts that are not addresses count as one client, "unknown".
    """
    address_without_interface = address.partition("%")[0]
    try:
        ip_address = ipaddress.ip_address(address_without_interface)
    except ValueError:
        return "unknown"
    if isinstance(ip_address, ipaddress.IPv6Address):
        mapped_ipv4 = ip_address.ipv4_mapped
        return str(mapped_ipv4 or ipaddress.ip_network((ip_address, 64), strict=False))
    return str(ip_address)
