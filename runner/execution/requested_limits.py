"""Limits the requests of a workload file to those of the sandbox."""

MAX_CONFINED_PROCESSES = 64
"""The largest number of processes of a confined case that start together. Each has its own sandbox and its own perf."""


def compute_memory_limit(requested_bytes: int | None, ceiling: int | None) -> int | None:
    """Return the bytes of memory that a case may use; None for no limit.

    Parameters
    ----------
    requested_bytes
        The limit in the workload file; None if it has none.
    ceiling
        The sandbox's limit; None outside of a sandbox.
    """
    limits = [limit for limit in (requested_bytes, ceiling) if limit is not None]
    return min(limits, default=None)


def explain_too_many_processes(process_count: int, *, sandboxed: bool) -> str:
    """Return why ``process_count`` processes cannot start together; empty if they can."""
    if not sandboxed or process_count <= MAX_CONFINED_PROCESSES:
        return ""
    return f"{process_count} processes are supposed to run at once, but a sandbox allows only {MAX_CONFINED_PROCESSES}"
