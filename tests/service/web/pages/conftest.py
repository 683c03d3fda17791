"""The clients of applications that show pages."""

from tests.service.web.page_clients import client, empty, extremes

__all__ = ["client", "empty", "extremes"]
