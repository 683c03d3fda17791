"""A webhook that notifications are sent to."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import psycopg

from bench.store_service import query_number

ADDRESS = "TEST_RELAY"
"""The variable that names it."""
SETTINGS = f"""
url = "http://127.0.0.1:9"
[[channel]]
name = "relay"
kind = "webhook"
url_variable = "{ADDRESS}"
"""
"""The file notifications.toml."""
PATIENCE = 420
"""Seconds. A message whose sender did not come to note that it was sent belongs to it for five minutes."""
WAITING = (
    "SELECT (SELECT count(*) FROM delivery WHERE sent_at IS NULL)"
    " + (SELECT count(*) FROM event WHERE found AND confirmed AND merged_into IS NULL AND state = 'new'"
    "    AND id NOT IN (SELECT event_id FROM delivery WHERE occasion = 'new'))"
)


@contextmanager
def receiving() -> Iterator[tuple[str, Counter[str]]]:
    """Listen until the end of the block; yield the address, and how often each message was received."""
    received: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            received[self.headers["Idempotency-Key"]] += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", received
    finally:
        server.shutdown()
        server.server_close()


def await_channel(url: str) -> None:
    """Wait until the service knows the channel: it sends no events from before that."""
    _await(url, "SELECT (SELECT count(*) FROM channel) = 0")


def await_all(url: str) -> set[str]:
    """Wait until every event is sent; return the keys of the messages."""
    _await(url, WAITING)
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT DISTINCT message_id FROM delivery WHERE sent_at IS NOT NULL").fetchall()
    return {str(key) for (key,) in rows}


def _await(url: str, question: str) -> None:
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as connection:
        while query_number(connection, question):
            assert time.monotonic() < deadline, question
            time.sleep(0.5)
