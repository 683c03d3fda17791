"""The clients of applications that show pages."""

from tests.service.web.page_clients import client, empty, empty_app, extremes, extremes_app, measured_app

__all__ = ["client", "empty", "empty_app", "extremes", "extremes_app", "measured_app"]
