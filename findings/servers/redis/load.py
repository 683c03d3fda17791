"""Writes and reads keys of one type that are new in each window, and prints the work in JSON."""

import json
import socket
import sys
import time
from io import BufferedRWPair

COMMANDS = {
    "strings": ([b"SET", b"{key}", b"x" * 120], [b"GET", b"{key}"]),
    "hashes": (
        [b"HSET", b"{key}", b"name", b"Ada", b"city", b"London", b"note", b"y" * 100],
        [b"HGETALL", b"{key}"],
    ),
    "sets": ([b"ZADD", b"{key}", *(b"1", b"one", b"2", b"two", b"3", b"z" * 70)], [b"ZRANGE", b"{key}", b"0", b"-1"]),
    "streams": ([b"XADD", b"{key}", b"1-1", b"event", b"login", b"user", b"Ada"], [b"XLEN", b"{key}"]),
}


def main() -> None:
    port, kind, keys = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    client = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
    first = int(call(client, [b"DBSIZE"])[1:])
    started = time.monotonic()
    for number in range(first, first + keys):
        for command in COMMANDS[kind]:
            answer = call(client, [word.replace(b"{key}", b"key:%07d" % number) for word in command])
            if answer.startswith(b"-"):
                sys.exit(answer.decode())
    print(json.dumps({"operations": 2 * keys, "seconds": time.monotonic() - started}))


def call(client: BufferedRWPair, words: list[bytes]) -> bytes:
    client.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    client.flush()
    return read(client)


def read(client: BufferedRWPair) -> bytes:
    line = client.readline()
    if line.startswith(b"$") and line != b"$-1\r\n":
        client.read(int(line[1:]) + 2)
    if line.startswith(b"*"):
        for _ in range(int(line[1:])):
            read(client)
    return line


main()
