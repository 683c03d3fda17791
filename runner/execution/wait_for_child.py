"""Waits for the end of a child without polling."""

import os
import select
import subprocess


def wait_for_child(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a child to end, without the polling of ``Popen.wait``; return whether it has ended."""
    if process.poll() is None:
        descriptor = os.pidfd_open(process.pid)
        try:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            poller.poll(max(0.0, 1000 * seconds))  # milliseconds
        finally:
            os.close(descriptor)
    return process.poll() is not None
