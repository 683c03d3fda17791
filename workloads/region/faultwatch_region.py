"""Count only the part of a Python program that matters: its region of interest.

    from faultwatch_region import region

    with region():
        main_loop()

Between entry and exit perf's counters run; without perf the block does nothing. Copy this file next to the program, or
put its folder on PYTHONPATH: it needs nothing but the standard library.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


def _command(control: int, ack: int, command: bytes) -> None:
    """Send one command to perf and wait until it is carried out."""
    os.write(control, command)
    while answer := os.read(ack, 8):
        if b"\n" in answer:
            return


@contextmanager
def region() -> Iterator[None]:
    """Open perf's counters for the block, where perf is there."""
    control = int(os.environ.get("FAULTWATCH_CONTROL_FD") or -1)
    ack = int(os.environ.get("FAULTWATCH_ACK_FD") or -1)
    if control < 0 or ack < 0:
        yield
        return
    _command(control, ack, b"disable\n")  # walks the whole way once, so that its pages are there when it counts
    _command(control, ack, b"enable\n")
    try:
        yield
    finally:
        _command(control, ack, b"disable\n")
