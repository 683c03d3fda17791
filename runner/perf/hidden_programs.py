"""Finds programs that the kernel hides from perf, which makes an execution useless as a sample."""

from runner.perf.faults_by_file import FaultsByFile


def describe_hidden_programs(faults: FaultsByFile | None) -> str:
    """Return which programs were hidden, as the predicate of a sentence; empty if none was.

    Parameters
    ----------
    faults
        The faults of the watched execution; None if it could not be watched.
    """
    if faults is None or not faults.hidden:  # If it could not be watched, only the watch of each sample can find them.
        return ""
    return (
        f"executes {', '.join(map(repr, faults.hidden[:3]))}, which the kernel hides from perf: it "
        "switches to another user or group (set-user-ID, set-group-ID), or this user is not allowed to read it"
    )
