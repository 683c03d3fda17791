"""Decides whether executions like a watched one can be samples: perf sees all programs, all is preloaded."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from runner.perf.faults_by_file import FaultsByFile


def describe_unusable_watch(faults: FaultsByFile | None, variables: Mapping[str, str]) -> str:
    """Return why executions like this one cannot be samples, as the second half of a sentence; empty if they can.

    Parameters
    ----------
    faults
        What was watched; None if that was impossible.
    variables
        The environment of the program.
    """
    if faults is None:
        return ""
    if faults.hidden:
        return (
            f"executes {', '.join(map(repr, faults.hidden[:3]))}, which the kernel hides from perf: it changes its "
            "user (set-user-ID), or this user may not read it"
        )
    if faults.lost:  # A missing record does not prove anything.
        return ""
    mapped_names = {PurePosixPath(file.path).name for file in faults.files}
    for entry in filter(None, re.split(r"[ :]+", variables.get("LD_PRELOAD", ""))):
        # The loader follows links: libtcmalloc.so.4 is mapped as libtcmalloc.so.4.5.9.
        stem = PurePosixPath(entry).name.partition(".so")[0]
        if "$" not in entry and not any(name.startswith(stem) for name in mapped_names):
            return f"ran without {entry!r} of LD_PRELOAD: no process mapped it"
    return ""
