"""Decides whether executions like a watched one can be samples.

perf must see all programs, and all libraries that the workload preloads must be mapped.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from runner.perf.faults_by_file import FaultsByFile


def describe_unusable_watch(faults: FaultsByFile | None, variables: Mapping[str, str]) -> str:
    """Return why executions like this one cannot be samples, as the predicate of a sentence; empty if they can.

    Parameters
    ----------
    faults
        The faults of the watched execution; None if it could not be watched.
    variables
        The environment variables of the program.
    """
    if faults is None:
        return ""
    if faults.hidden:
        return (
            f"executes {', '.join(map(repr, faults.hidden[:3]))}, which the kernel hides from perf: it changes its "
            "user (set-user-ID), or this user may not read it"
        )
    if faults.lost:  # If records were lost, a library without a record may be mapped nevertheless.
        return ""
    mapped_names = {PurePosixPath(file.path).name for file in faults.files}
    for entry in filter(None, re.split(r"[ :]+", variables.get("LD_PRELOAD", ""))):
        # Compare only the stems, because the loader follows links: libtcmalloc.so.4 is mapped as libtcmalloc.so.4.5.9.
        stem = PurePosixPath(entry).name.partition(".so")[0]
        if "$" not in entry and not any(name.startswith(stem) for name in mapped_names):
            return f"ran without {entry!r} of LD_PRELOAD: no process mapped it"
    return ""
