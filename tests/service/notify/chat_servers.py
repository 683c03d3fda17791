"""Chat servers on loopback: one that answers as it is set, and a proxy that leads every address to it."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TypeVar

Server = TypeVar("Server", bound=ThreadingHTTPServer)


class ChatServer(ThreadingHTTPServer):
    """Keeps what is sent to it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Chat)
        self.requests: list[tuple[str, str]] = []
        """Path and body of each."""
        self.status = 200
        self.answer = b"{}"


class _Chat(BaseHTTPRequestHandler):
    server: ChatServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.requests.append((self.path, body))
        self.send_response(self.server.status)
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_GET = do_PUT = do_POST  # noqa: N815 - the names that http.server calls

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _ProxyTo(ThreadingHTTPServer):
    daemon_threads = True
    target = ("127.0.0.1", 0)


class _Proxy(BaseHTTPRequestHandler):
    server: _ProxyTo

    def do_CONNECT(self) -> None:
        # A client may hang up without a farewell.
        with contextlib.suppress(ConnectionError), socket.create_connection(self.server.target) as upstream:
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            ends = [self.connection, upstream]
            while True:
                for end in select.select(ends, [], [], 10)[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    (upstream if end is self.connection else self.connection).sendall(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serving(server: Server) -> Iterator[Server]:
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def behind_proxy(folder: Path) -> Iterator[tuple[ChatServer, str]]:
    """Serve by TLS, with a certificate that nobody trusts, and a proxy that leads every address there.

    Yields the server and the proxy's address.
    """
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=chat.example.org"]
    subprocess.run([*made, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    chat = ChatServer()
    chat.socket = context.wrap_socket(chat.socket, server_side=True)
    proxy = _ProxyTo(("127.0.0.1", 0), _Proxy)
    proxy.target = ("127.0.0.1", chat.server_port)
    with serving(chat), serving(proxy):
        yield chat, f"http://127.0.0.1:{proxy.server_port}"
