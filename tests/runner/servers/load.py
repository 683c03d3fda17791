"""Sends requests to the test server at a port or a path, and prints its work in JSON, or other seconds than it took."""

import json
import socket
import sys
import time

place, requests, *seconds = sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:])
connection = socket.socket(socket.AF_UNIX if "/" in place else socket.AF_INET)
connection.connect(place if "/" in place else ("127.0.0.1", int(place)))
started = time.monotonic()
for _ in range(requests):
    connection.send(b"\n")
    if not connection.recv(1):
        sys.exit("the server has closed the connection")
report = {"operations": requests, "seconds": seconds[0] if seconds else time.monotonic() - started}
sys.stdout.write(json.dumps(report) + "\n")
