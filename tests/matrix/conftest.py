"""Machines end with the tests, however those end."""

from tests.hosts.conftest import in_order

__all__ = ["in_order"]
