"""One measurement at a time on this host: what orders another one waits."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runner.errors import FaultwatchError
from runner.settings import Settings

_FILE = "measuring.lock"


@contextmanager
def host_lock(settings: Settings, said: Callable[[str], None]) -> Iterator[None]:
    """Wait for the turn of this process, and hold it. It ends with the process too, however that ends.

    Raises
    ------
    FaultwatchError
        Where the lock cannot be made.
    """
    file = settings.home / _FILE
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FaultwatchError(f"{file}: {error.strerror}", "set FAULTWATCH_HOME to a folder to write to") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            said("another measurement is under way on this host; this one waits for it")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
