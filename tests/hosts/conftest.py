"""Guests end with the tests, however those end."""

import os
import signal
import sys

import pytest


@pytest.fixture(scope="session", autouse=True)
def in_order() -> None:
    """Let tests that are told to end take back what they made: mounts, bridges, machines."""
    if os.geteuid() != 0:
        pytest.exit("machines are booted by root only: use sudo", returncode=1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
