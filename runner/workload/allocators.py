"""Knows allocators by name: the variables that preload them, and whether this host has their libraries."""

import os
import subprocess
from collections.abc import Mapping
from functools import lru_cache

from runner.contract.allocators import ALLOCATOR_LIBRARIES
from runner.errors import FaultwatchError

ALLOCATOR_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "glibc": {},
    **{name: {"LD_PRELOAD": library} for name, library in ALLOCATOR_LIBRARIES.items()},
    # This returns freed memory to the kernel at once, instead of after ten seconds.
    "jemalloc-no-decay": {
        "LD_PRELOAD": ALLOCATOR_LIBRARIES["jemalloc"],
        "MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
    },
}
"""By allocator: the variables that make a process use it."""


def get_allocator_variables(name: str) -> dict[str, str]:
    """Return the variables that make a process use an allocator.

    Raises
    ------
    FaultwatchError
        The name is unknown.
    """
    try:
        return dict(ALLOCATOR_VARIABLES[name])
    except KeyError:
        raise FaultwatchError(
            f"there is no allocator {name!r}", f"known allocators: {', '.join(ALLOCATOR_VARIABLES)}"
        ) from None


def find_missing_library(name: str) -> str:
    """Return the name of an allocator's library if this host lacks it; otherwise an empty string."""
    library = get_allocator_variables(name).get("LD_PRELOAD", "")
    return "" if not library or _can_preload(library) else library


@lru_cache
def _can_preload(library: str) -> bool:
    """Return whether the loader can preload a library: if it cannot, it prints a warning."""
    result = subprocess.run(
        ["true"], env={"LD_PRELOAD": library, "PATH": os.defpath}, check=False, capture_output=True, text=True
    )
    return library not in result.stderr
