"""The names of loopback, to which the service needs no encryption to send a secret."""

from __future__ import annotations

LOOPBACK = ("localhost", "127.0.0.1", "::1")
