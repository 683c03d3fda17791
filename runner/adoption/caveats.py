"""Says what the counts of a proposed command do not show. The workload file keeps this, and each gate shows it."""

from runner.adoption.tried_command import MAX_NATIVE_START_FAULTS, START_CPU_SECONDS, TriedCommand

_FEW_ADDED_FAULTS = 200
"""An input is small if it adds fewer faults than this, and fewer than the program takes to start."""
_SMALL_MEMORY_FAULTS = 256
"""A program that touches fewer pages than these, a megabyte on most hosts, and ends at once, does little work."""
MIN_ADDED_SHARE = 0.1
"""An input adds little if it adds less than this share of the faults that the program takes to start."""


def describe_caveat(tried_command: TriedCommand, start_faults: int = 0) -> str:
    """Return what the counts of a command do not show; empty if no shortcoming is known.

    Parameters
    ----------
    start_faults
        The faults that the program takes without its input; 0 if unknown.
    """
    run = tried_command.run
    if tried_command.is_foreign:
        return f"`{run.command}` executes nothing that this project builds"
    if run.http_error:
        return f"the load requests only pages that the server answers with HTTP error {run.http_error}"
    if tried_command.prints_usage or run.only_describes_itself:
        return f"this measures only the start-up of `{run.command}`, which prints its usage or version"
    if run.stand_in_file and not (tried_command.is_like_start or _only_starts(tried_command, start_faults)):
        return f"the file in `{run.command}` is only a stand-in for the input that real users would provide"
    return _describe_missing_work(tried_command, start_faults)


def _describe_missing_work(tried_command: TriedCommand, start_faults: int) -> str:
    """Return why a command does little more than start; empty if nothing suggests that it does.

    Its input may add few faults to those of the start, or it may have no input at all. Tests and programs that compute
    for a long time do work without an input.
    """
    run = tried_command.run
    if run.file and _only_starts(tried_command, start_faults):
        added = min(tried_command.faults) - start_faults
        fewer = f"only {added} fewer {'fault' if added == 1 else 'faults'}" if added > 0 else "no fewer faults"
        return (
            f"this measures little more than the program's start-up: without its input, `{run.command}` takes {fewer}"
        )
    does_nothing_with_file = bool(run.file) and tried_command.is_like_start
    does_nothing_alone = tried_command.takes_only_start or tried_command.ends_at_once
    if does_nothing_with_file or (does_nothing_alone and not tried_command.has_no_work):
        return (
            f"this measures little more than the program's start-up: `{run.command}` takes only "
            f"{min(tried_command.faults)} faults"
        )
    if tried_command.has_no_work and tried_command.only_imports:
        return (
            f"this measures little more than the import of the package: `{run.command}` takes hardly any more faults "
            "than the import alone"
        )
    if tried_command.has_no_work:
        return f"this measures only the start-up of `{run.command}`, because it gets no input"
    return _describe_little_work(tried_command, start_faults)


def _describe_little_work(tried_command: TriedCommand, start_faults: int) -> str:
    """Return why a command that does more than start may hide regressions: its input is small, or it touches few pages.

    Empty if neither is known.
    """
    run = tried_command.run
    added = min(tried_command.faults) - start_faults
    if run.file and added < min(start_faults, _FEW_ADDED_FAULTS) and tried_command.cpu_seconds < START_CPU_SECONDS:
        return (
            f"the input of `{run.command}` is small: it adds only {added} faults to the {start_faults} with which the "
            "program starts, so it may not show a change that takes more memory for each part of an input"
        )
    if tried_command.touches_little_memory:
        return (
            f"`{run.command}` takes only {min(tried_command.faults)} faults, about as many as an empty program, "
            "however long it computes: more memory would show in the count, but a slower computation would not"
        )
    memory_faults = tried_command.memory_faults
    is_quick = 0 < tried_command.cpu_seconds < START_CPU_SECONDS
    if memory_faults is not None and memory_faults < _SMALL_MEMORY_FAULTS and is_quick and not run.is_server:
        return (
            f"`{run.command}` does little work: it touches only {memory_faults} pages of memory and ends after "
            f"{tried_command.cpu_seconds * 1000:.0f} ms, so it may not show a change that takes more memory for larger "
            "work"
        )
    return ""


def _only_starts(tried_command: TriedCommand, start_faults: int) -> bool:
    """Return whether a command with an input does little more than start.

    A native program that reads its input piece by piece hardly takes more faults for it, but more CPU time.
    """
    works_long = tried_command.cpu_seconds >= START_CPU_SECONDS and start_faults < MAX_NATIVE_START_FAULTS
    return adds_little(tried_command, start_faults) and not works_long


def adds_little(result_with_input: TriedCommand, start_faults: int) -> bool:
    """Return whether an input hardly adds to the faults of a start; False if these are unknown (0)."""
    return min(result_with_input.faults) - start_faults < start_faults * MIN_ADDED_SHARE
