"""The names of loopback: the service answers to them by default, and needs no encryption to send them a secret."""

from __future__ import annotations

LOOPBACK = ("localhost", "127.0.0.1", "::1")
