"""Finds libraries of LD_PRELOAD that a program ran without: it went on with another allocator."""

import os
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from runner.perf.faults_by_file import FaultsByFile


def describe_unmapped_preload(faults: FaultsByFile | None, variables: Mapping[str, str]) -> str:
    """Return which library no process mapped, as the predicate of a sentence; empty if all were mapped.

    Parameters
    ----------
    faults
        The faults of the watched execution; None if it could not be watched.
    variables
        The environment variables of the program.
    """
    # If records were lost, a library without a record may be mapped nevertheless.
    if faults is None or faults.lost:
        return ""
    mapped_names = {PurePosixPath(file.path).name for file in faults.files}
    for entry in filter(None, re.split(r"[ :]+", variables.get("LD_PRELOAD", ""))):
        # A mapping has the name to which links lead: libtcmalloc.so.4 is mapped as libtcmalloc.so.4.5.9. Compare the
        # stems of both names, because not every entry is a path, or one that the runner sees.
        names = PurePosixPath(entry).name, PurePosixPath(os.path.realpath(entry)).name
        stems = tuple(name.partition(".so")[0] for name in names)
        # The loader replaces $LIB and the like, so the name of the library is unknown.
        if "$" not in entry and not any(name.startswith(stems) for name in mapped_names):
            return f"ran without {entry!r} from LD_PRELOAD: no process mapped it"
    return ""


def describe_unloaded_preload(error: str) -> str:
    """Return a problem if the loader ignored a library, by what it printed on standard error; empty otherwise."""
    match = re.search(r"ld\.so: object '([^']*)' from LD_PRELOAD cannot be preloaded", error)
    return f"ran without {match[1]!r} from LD_PRELOAD, which could not be loaded" if match else ""
