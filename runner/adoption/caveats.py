"""Says what a proposed command leaves unwatched, for the workload file and so for each gate. Pure."""

from runner.adoption.tried_command import Tried


def describe_caveat(tried: Tried) -> str:
    """Return what the counts of a command do not show; empty if nothing is known against it."""
    run = tried.run
    if tried.foreign:
        return f"`{run.command}` executes nothing that this project builds"
    if tried.usage or run.describes_only:
        return f"this watches the start of `{run.command}` alone: it prints its usage or version"
    if run.stand_in:
        return f"this watches `{run.command}`, whose file stands in for the input of its users"
    if run.idle and not run.test:
        return f"this watches the start of `{run.command}` alone: it gets no input"
    return ""
