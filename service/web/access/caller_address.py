"""The address of the caller of a request."""

from __future__ import annotations

import ipaddress

from flask import request

from service.rules.access.throttle import normalise_address
from service.web.app_resources import get_config


def find_caller_address() -> str:
    """Return the address of the caller, by which failed sign-ins are counted.

    A proxy appends the address of its caller to ``X-Forwarded-For``. Only that last address is believed, and only from
    a proxy on this machine or one that the settings name: a caller can send any addresses before it.
    """
    peer = request.remote_addr or "127.0.0.1"  # a socket in the file system has no address
    forwarded_address = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    return normalise_address(forwarded_address if forwarded_address and _is_proxy(peer) else peer)


def _is_proxy(peer: str) -> bool:
    """Return whether a request comes from a proxy whose headers are trusted."""
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address  # a socket for both protocols, such as systemd's, maps IPv4
    return address.is_loopback or str(address) in get_config().proxies
