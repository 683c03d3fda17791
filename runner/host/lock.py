"""Allow one measurement at a time on this host; others wait."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runner.errors import FaultwatchError
from runner.settings import Settings

_FILE = "measuring.lock"


@contextmanager
def host_lock(settings: Settings, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the host's lock; wait for it if another process has it. The kernel releases it when the process ends.

    Raises
    ------
    FaultwatchError
        The lock file cannot be created.
    """
    file = settings.home / _FILE
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FaultwatchError(
            f"{file}: {error.strerror}", "set FAULTWATCH_HOME to a folder that you may write to"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another measurement is running on this host; this one waits for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
