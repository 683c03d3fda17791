"""The HTTP API: one blueprint a noun, below /api/v1."""

from service.web.api import body

__all__ = ["body"]
"""Imported before any view: a view whose module comes first would read its body as the framework does."""
