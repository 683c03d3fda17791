"""System calls that Python has no function for."""

import ctypes
import os
from functools import lru_cache

ADDR_NO_RANDOMIZE = 0x0040000
"""personality(2): no address-space layout randomisation."""
_ASK = 0xFFFFFFFF
_PR_SET_THP_DISABLE, _PR_GET_THP_DISABLE = 41, 42


def personality() -> int:
    """Return the personality of this thread."""
    return _checked(_libc().personality(_ASK))


def set_personality(flags: int) -> None:
    """Set the personality of this thread, and of what it starts."""
    _checked(_libc().personality(flags))


def refuses_huge_pages() -> bool:
    """Whether this process gets no transparent huge pages."""
    return bool(_checked(_libc().prctl(_PR_GET_THP_DISABLE, 0, 0, 0, 0)))


def refuse_huge_pages(refuse: bool) -> None:
    """Take transparent huge pages away from this process and from what it starts, or give them back."""
    _checked(_libc().prctl(_PR_SET_THP_DISABLE, int(refuse), 0, 0, 0))


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


@lru_cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
