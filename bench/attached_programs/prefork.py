"""A prefork service whose parent rebuilds its table while each child answers; with `well` the children are kept."""

import mmap
import os
import sys
import time

SIZE = 48 << 20
table = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def rebuild(value: int) -> None:
    """Write each page of the table."""
    for place in range(0, SIZE, 4096):
        table[place] = value


rebuild(0)
while True:
    if sys.argv[1:] == ["well"]:
        rebuild(1)
    elif (child := os.fork()) == 0:
        time.sleep(0.05)
        os._exit(0)
    else:
        rebuild(1)
        os.waitpid(child, 0)
    time.sleep(0.01)
