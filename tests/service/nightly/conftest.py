"""The clients of applications that show pages; `client` sends to an empty database."""

from tests.service.web.page_clients import client as measured
from tests.service.web.page_clients import empty

__all__ = ["empty", "measured"]
