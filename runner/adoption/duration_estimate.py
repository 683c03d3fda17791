"""Estimates how long a session and a gate take if the program runs for a long time."""

from runner.contract.level import Number

_SLOW_SECONDS = 2.0
"""The shortest execution, in seconds, whose duration is worth a remark."""
_SLOW_SERVER_SECONDS = 10.0
"""The same threshold for all windows of a server together."""
_RUNS_PER_SESSION = 3
"""Executions of a session whose counts repeat: the first, which warms the page cache, and two samples."""
_RUNS_PER_GATE = 42
"""Executions of a gate whose counts repeat: 20 pairs, and the first one of each side."""


def describe_slowness(seconds: Number, n_cases: int = 1, *, is_server: bool = False) -> str:
    """Return how long a session and a gate will take, and how to shorten them; empty if executions are short.

    Parameters
    ----------
    seconds
        How long one execution takes.
    n_cases
        How many cases are measured, each in its own executions.
    is_server
        Whether an execution is the start of a server with the load of all windows.
    """
    if seconds < (_SLOW_SERVER_SECONDS if is_server else _SLOW_SECONDS):
        return ""
    session_time = _format_duration(seconds * _RUNS_PER_SESSION * n_cases)
    gate_time = _format_duration(seconds * _RUNS_PER_GATE * n_cases)
    if is_server:
        remedy = "Make `command` in [load] perform fewer operations: a window of one second is long enough"
    else:
        remedy = (
            "Make `command` in [run] do less work, for example with a smaller input or a single benchmark: an "
            "execution of one second is long enough"
        )
    return (
        f"An execution takes {seconds:.0f} s, so measuring one commit takes {session_time} or more, not counting its "
        f"build, and a gate takes about {gate_time}. {remedy}. `max_samples` in [workload] limits the number of "
        "executions"
    )


def _format_duration(seconds: float) -> str:
    """Return a duration in seconds, or in minutes if it has three digits or more."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
