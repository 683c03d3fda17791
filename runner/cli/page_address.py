"""The URLs at which the user of this terminal can open the service's pages."""

import socket

from runner.settings import Settings
from runner.variables import get_value

_DEFAULT_PORT = "8080"
"""The port on which ``faultwatch-service serve`` listens by default."""


def build_page_address(settings: Settings, path: str) -> str:
    """Return the URL of a page on the configured service or, without one, on a local service that can be started."""
    return f"{settings.url.rstrip('/')}{path}" if settings.url else f"http://127.0.0.1:{_read_port()}{path}"


def is_served(settings: Settings) -> bool:
    """Return whether a service probably answers at the URLs of pages.

    Without a configured service, commands use this user's database directly, and its pages are only available while a
    local service is running.
    """
    if settings.url:
        return True
    try:
        socket.create_connection(("127.0.0.1", int(_read_port())), timeout=1).close()
    except (OSError, OverflowError):  # OverflowError: no port has such a large number
        return False
    return True


def _read_port() -> str:
    """Return the port of a local service: the value of FAULTWATCH_PORT, or the default."""
    port = get_value("FAULTWATCH_PORT")
    return port if port.isdecimal() and port != "0" else _DEFAULT_PORT
