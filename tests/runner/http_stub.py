"""A service made up of answers, on loopback, for what a real one does not do on demand."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    status: int
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class HttpStub:
    """Answers with what is next in line, and where nothing is, as a service does that stores everything."""

    url: str
    next: list[Answer] = field(default_factory=list)
    always: Answer | None = None
    stored: list[str] = field(default_factory=list)
    requests: int = 0
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def answer(self, path: str) -> Answer:
        self.requests += 1
        self.paths.append(path)
        if self.always or self.next:
            return self.always or self.next.pop(0)
        self.stored.append(path.rsplit("/", 1)[-1])
        return Answer(201, json.dumps({"run_id": self.stored[-1], "created": True}))


@contextmanager
def http_stub() -> Iterator[HttpStub]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.headers.append(dict(self.headers))
            answer = made.answer(self.path)
            self.send_response(answer.status)
            for name, value in {"Content-Length": str(len(answer.body.encode())), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body.encode())

        do_GET = do_POST = do_PUT  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = HttpStub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
