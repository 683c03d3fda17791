"""The HTTP API below /api/v1: one blueprint for each noun."""

from service.web.api import body

__all__ = ["body"]
"""Imported before any view, because it replaces the way in which APIFlask parses the bodies of views."""
