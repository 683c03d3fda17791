"""Serves a stand-in of a forge over HTTP on loopback, which can be made to fail once."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from flask import Flask, Response, g, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server


@dataclass
class Fault:
    """What is answered in place of the right thing, once."""

    method: str
    path: str
    """A regular expression."""
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    done: bool = False
    """Whether the request takes effect all the same, and only its answer is lost."""


@dataclass
class StandIn:
    """A forge's memory."""

    token: str = "the-token-of-tests"
    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    ids: int = 100

    def next_id(self) -> int:
        self.ids += 1
        return self.ids

    def fail(self, method: str, path: str, status: int, *, done: bool = False, **headers: str) -> None:
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.faults.append(Fault(method, path, status, headers, done))


def problem(status: int, message: str = "broken", headers: dict[str, str] | None = None) -> Response:
    answer = jsonify({"message": message})
    answer.status_code = status
    answer.headers.update(headers or {})
    return answer


def guarded(app: Flask, forge: StandIn, header: str, expected: str) -> None:
    """Have an application ask for the token, and fail where it shall."""

    @app.before_request
    def _guard() -> Response | None:
        forge.requests.append(f"{request.method} {request.path}")
        g.fault = next(
            (one for one in forge.faults if one.method == request.method and re.search(one.path, request.path)), None
        )
        if g.fault is not None:
            forge.faults.remove(g.fault)
            if not g.fault.done:
                return problem(g.fault.status, headers=g.fault.headers)
        return None if request.headers.get(header) == expected else problem(401, "401 Unauthorized")

    @app.after_request
    def _lost(answer: Response) -> Response:
        return problem(g.fault.status, headers=g.fault.headers) if g.fault and g.fault.done else answer


class Addressed(Protocol):
    """A stand-in that is told at which address it is served."""

    url: str


@contextmanager
def running(forge: Addressed, app: Flask) -> Iterator[Any]:
    """Serve the application of a stand-in."""
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Silent)
    forge.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Silent(WSGIRequestHandler):
    def log(self, *_: Any, **__: Any) -> None:
        """Say nothing."""
