"""The addresses of the service's pages, as the person at this terminal can open them."""

from runner.settings import Settings
from runner.variables import value_of


def page_address(settings: Settings, path: str) -> str:
    """Return the address of a page: on the service that the settings name, else on the one to be started here."""
    return f"{settings.url.rstrip('/')}{path}" if settings.url else f"http://127.0.0.1:{_port()}{path}"


def _port() -> str:
    port = value_of("FAULTWATCH_PORT")
    return port if port.isdecimal() and port != "0" else "8080"
