"""Opens files that untrusted code may have named or created: never waits for a pipe or reads more than a limit."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path


def open_regular(file: Path | str, *, may_be_link: bool = True) -> BufferedReader:
    """Open a regular file for reading.

    Parameters
    ----------
    may_be_link
        Whether the file itself may be a link.

    Raises
    ------
    OSError
        The file cannot be opened, or is a folder, a pipe, a socket or a device.
    """
    # Without O_NONBLOCK, opening a pipe would wait for its other end.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if may_be_link else os.O_NOFOLLOW)
    descriptor = os.open(file, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(file: Path | str, limit: int, *, may_be_link: bool = True) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes.

    Raises
    ------
    OSError
        The file cannot be opened, is not a regular file, or is larger.
    """
    with open_regular(file, may_be_link=may_be_link) as stream:
        # Read one byte more than the reported size, which is 0 for files of /proc, and then check whether more follows.
        # Do not read up to the limit at once, because that would allocate as much memory.
        data = stream.read(min(limit, os.fstat(stream.fileno()).st_size) + 1)
        if len(data) <= limit:
            data += stream.read(limit + 1 - len(data)) if stream.peek(1) else b""
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes", str(file))
    return data


def identify_file(status: os.stat_result) -> tuple[int, ...]:
    """Return a tuple that identifies a file, and changes when its content does."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
