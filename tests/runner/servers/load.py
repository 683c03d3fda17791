"""Sends requests to the test server at a port or a path, and prints its work in JSON."""

import json
import socket
import sys
import time

place, requests = sys.argv[1], int(sys.argv[2])
connection = socket.socket(socket.AF_UNIX if "/" in place else socket.AF_INET)
connection.connect(place if "/" in place else ("127.0.0.1", int(place)))
started = time.monotonic()
for _ in range(requests):
    connection.send(b"\n")
    if not connection.recv(1):
        sys.exit("the server has closed the connection")
sys.stdout.write(json.dumps({"operations": requests, "seconds": time.monotonic() - started}) + "\n")
