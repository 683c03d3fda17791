"""Sets and gets items that are new in each window, in the same order, and prints the work in JSON."""

import json
import random
import socket
import sys
import time
from io import BufferedRWPair

CONNECTIONS = 16


def main() -> None:
    port, items = int(sys.argv[1]), int(sys.argv[2])
    clients = [socket.create_connection(("127.0.0.1", port)).makefile("rwb") for _ in range(CONNECTIONS)]
    first = count_items(clients[0])
    sizes = random.Random(first)
    started = time.monotonic()
    for number in range(first, first + items):
        client = clients[number % CONNECTIONS]
        value = b"x" * sizes.randrange(100, 4000)
        client.write(b"set key%07d 0 0 %d\r\n%s\r\nget key%07d\r\n" % (number, len(value), value, number))
        client.flush()
        lines = [client.readline() for _ in range(4)]
        if lines[0] != b"STORED\r\n" or lines[2] != value + b"\r\n":
            sys.exit(f"key {number} is not there: {lines[0]!r}")
    print(json.dumps({"operations": 2 * items, "seconds": time.monotonic() - started}))


def count_items(client: BufferedRWPair) -> int:
    client.write(b"stats\r\n")
    client.flush()
    lines = iter(client.readline, b"END\r\n")
    return next(int(line.split()[2]) for line in list(lines) if line.startswith(b"STAT curr_items "))


main()
