"""Requests a compressed page over many connections, which all read it late, and prints the work in JSON."""

import json
import socket
import sys
import time
from typing import Any

REQUESTS = {"GET /page.txt": b"200", "GET /absent": b"404"}


def main() -> None:
    port, connections = int(sys.argv[1]), int(sys.argv[2])
    started = time.monotonic()
    clients = [connect(port) for _ in range(connections)]
    for request, status in REQUESTS.items():
        for client in clients:
            client.write(f"{request} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n".encode())
            client.flush()
            if (line := client.readline()).split()[1] != status:
                sys.exit(f"{request}: {line!r}")
        for client in clients:
            read_rest(client)
    print(json.dumps({"operations": len(REQUESTS) * connections, "seconds": time.monotonic() - started}))


def connect(port: int) -> Any:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    return client.makefile("rwb", buffering=1024)


def read_rest(client: Any) -> None:
    headers = dict(line.lower().strip().split(b": ", 1) for line in iter(client.readline, b"\r\n"))
    if b"content-length" in headers:
        client.read(int(headers[b"content-length"]))
    else:
        while size := int(client.readline(), 16):
            client.read(size + 2)
        client.readline()


main()
