"""Chooses the parameters of the connections to PostgreSQL: those in ``DATABASE_URL`` take precedence."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL

_CONNECTION_TIMEOUTS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
"""Options of PostgreSQL's client library: this machine notices within half a minute that the server's machine or the
network is gone, even while it waits for an answer. By default, this takes a quarter of an hour, or hours."""
CONNECTIONS = 20
"""Maximum number of connections to PostgreSQL per process: one for each concurrent request, for each background task
and for deferred work, and another for the lock of each exclusive task. So none of them waits for a connection."""


def choose_engine_options(url: URL) -> dict[str, Any]:
    """Return the options of the engine's connections. Options in the URL take precedence."""
    if url.get_backend_name() != "postgresql":
        return {}
    timeouts = {name: value for name, value in _CONNECTION_TIMEOUTS.items() if name not in url.query}
    return {"pool_size": CONNECTIONS, "max_overflow": 0, "connect_args": timeouts}
