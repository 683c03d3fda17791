"""Count only the part of a Python program that matters: its region of interest.

    from faultwatch_region import region

    with region():
        main_loop()

Between entry and exit, perf's counters run; without perf, the context manager has no effect. Copy this file next to the
program, or put its folder on PYTHONPATH. It needs only the standard library.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


def _command(control: int, ack: int, command: bytes) -> None:
    """Send one command to perf, and wait for the acknowledgement."""
    os.write(control, command)
    while answer := os.read(ack, 8):
        if b"\n" in answer:
            return


@contextmanager
def region() -> Iterator[None]:
    """Enable perf's counters in the block, if the program runs under perf."""
    control = int(os.environ.get("FAULTWATCH_CONTROL_FD") or -1)
    ack = int(os.environ.get("FAULTWATCH_ACK_FD") or -1)
    if control < 0 or ack < 0:
        yield
        return
    _command(control, ack, b"disable\n")  # executes all this code once, so that its pages do not fault in the region
    _command(control, ack, b"enable\n")
    try:
        yield
    finally:
        _command(control, ack, b"disable\n")
