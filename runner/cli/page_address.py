"""The addresses of the service's pages, as the person at this terminal can open them."""

import socket

from runner.settings import Settings
from runner.variables import get_value


def build_page_address(settings: Settings, path: str) -> str:
    """Return the address of a page: on the service that the settings name, else on the one to be started here."""
    return f"{settings.url.rstrip('/')}{path}" if settings.url else f"http://127.0.0.1:{_read_port()}{path}"


def is_served(settings: Settings) -> bool:
    """Return whether a service answers at the addresses of pages, as far as is known.

    Without a named one, commands use the database of this user, which a service here only shows.
    """
    if settings.url:
        return True
    try:
        socket.create_connection(("127.0.0.1", int(_read_port())), timeout=1).close()
    except (OSError, OverflowError):
        return False
    return True


def _read_port() -> str:
    port = get_value("FAULTWATCH_PORT")
    return port if port.isdecimal() and port != "0" else "8080"
