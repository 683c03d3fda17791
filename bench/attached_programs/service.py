"""A service that copies its state for each request, or with `well` changes it in place."""

import sys
import time

state = bytearray(48 << 20)


def answer() -> None:
    """Answer one request."""
    copy = state if sys.argv[1:] == ["well"] else bytearray(state)
    for place in range(0, len(copy), 64 << 10):
        copy[place] = 1


while True:
    answer()
    time.sleep(0.01)
