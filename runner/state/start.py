"""What the kernel lays on the stack of a new program: its arguments and its environment, together of a fixed size.

A program's stack begins below these strings. Where they are longer by some bytes, what it puts on its stack crosses
into the next page sooner: the same program, another count. So a variable fills them up to a fixed size: a preloaded
library or an option of the allocator then moves a count by what it does, not by how long its name is.

Arguments stay as the workload writes them: ``./program`` in the build's directory, so that no path of this host is
among them.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

BASE_VARIABLES: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}
"""All that the runner's own tools find in their environment, and what a build begins with: their words can be read."""
PROCESS_VARIABLES: Mapping[str, str] = {**BASE_VARIABLES, "LC_ALL": "C.UTF-8"}
"""All that a measured program finds in its environment, unless the workload or the caller adds to it.

The locale is the one that programs meet where they are used. Under ``C`` some take another way: Python reads its whole
configuration a second time, to change to UTF-8, which is 30 pages more.
"""
START_SIZE = 4096
"""Bytes of all arguments and variables with the pointers to them; what needs more gets the next multiple."""
PADDING = "FAULTWATCH_PADDING"
_POINTER = 8


def padded(variables: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
    """Return the variables of a command with one more, whose length makes the whole a multiple of the fixed size."""
    used = _size(command) + _size(f"{name}={value}" for name, value in variables.items()) + _size([f"{PADDING}="])
    return {**variables, PADDING: "." * (-used % START_SIZE)}


def _size(strings: Iterable[str]) -> int:
    return sum(len(os.fsencode(text)) + 1 + _POINTER for text in strings)
