"""Finds out which events this perf knows, because perf counts nothing if it is asked for an unknown event."""

import re
from collections.abc import Sequence

from runner.errors import FaultwatchError
from runner.execution.execute import execute
from runner.execution.process_variables import BASE_VARIABLES
from runner.perf.counted_events import build_perf_stat_command
from runner.system.scratch import make_scratch_folder

_is_known: dict[str, bool] = {}
"""Whether perf knows an event, by name; perf is asked about each event only once."""


def split_known_events(events: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split events into those that this perf knows and those that it does not.

    Raises
    ------
    FaultwatchError
        perf is not installed.
    """
    unprobed_events = [event for event in events if event not in _is_known]
    if unprobed_events:
        # Ask about each event separately only if perf refuses them together, because each question starts perf.
        all_known = _is_accepted(unprobed_events)
        _is_known.update({event: all_known or _is_accepted([event]) for event in unprobed_events})
    supported_events = tuple(event for event in events if _is_known[event])
    return supported_events, tuple(event for event in events if not _is_known[event])


def _is_accepted(events: Sequence[str]) -> bool:
    """Return whether perf knows all of these events on this host; raise if perf is not installed.

    perf may fail for another reason, for example because this user may count nothing. The events are then taken for
    known ones, so that the attempt to count them shows the reason.
    """
    with make_scratch_folder() as scratch:
        try:
            result = execute(
                build_perf_stat_command(["true"], scratch / "perf.csv", events),
                directory=scratch,
                environment=BASE_VARIABLES,
                timeout=60,
            )
        except PermissionError as error:
            raise FaultwatchError(
                f"perf cannot be executed: {error.strerror}", "let this user execute it, or install it again"
            ) from None
        except FileNotFoundError:
            raise FaultwatchError(
                f"perf is not installed in {BASE_VARIABLES['PATH']}",
                "Debian: apt install linux-perf; Ubuntu: apt install linux-tools-generic",
            ) from None
    return not re.search(r"event syntax error|unknown (?:tracepoint|event)|parser error", result.error)
