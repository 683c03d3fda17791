"""The environment variables with which programs are started, padded to a fixed size where faults are counted.

The kernel puts the arguments and the environment at the top of a new program's stack; the rest of the stack begins
below these strings. If the strings are a few bytes longer, the stack crosses into the next page sooner, and the count
of the same program changes. A padding variable therefore fills them up to a fixed size: a preloaded library or an
option of the allocator then changes a count by its effect, not by the length of its name.

Arguments stay as the workload writes them, such as ``./program`` in the build's directory, so that they contain no
path of this host.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

BASE_VARIABLES: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "HOME": "/nonexistent"}
"""The environment of the runner's own tools, and the initial one of builds. With this locale, output can be parsed."""
PROCESS_VARIABLES: Mapping[str, str] = {**BASE_VARIABLES, "LC_ALL": "C.UTF-8"}
"""The environment of a measured program, unless the workload or the caller adds to it.

The locale is one that programs meet in practice. Under ``C``, some behave differently: Python reads its configuration
a second time to switch to UTF-8, which touches 30 more pages.
"""
START_BLOCK_BYTES = 4096
"""Bytes to which all arguments and variables, with the pointers to them, are padded; larger blocks to a multiple."""
PADDING_VARIABLE = "FAULTWATCH_PADDING"
_POINTER_BYTES = 8


def pad_variables(variables: Mapping[str, str], command: Sequence[str]) -> dict[str, str]:
    """Return the variables with a padding variable, so that they and the command fill a multiple of the fixed size."""
    used_bytes = (
        _compute_size(command)
        + _compute_size(f"{name}={value}" for name, value in variables.items())
        + _compute_size([f"{PADDING_VARIABLE}="])
    )
    return {**variables, PADDING_VARIABLE: "." * (-used_bytes % START_BLOCK_BYTES)}


def _compute_size(strings: Iterable[str]) -> int:
    """Return the bytes that strings take at the start of a program, with their final zeros and the pointers to them."""
    return sum(len(os.fsencode(text)) + 1 + _POINTER_BYTES for text in strings)
