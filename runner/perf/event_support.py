"""Which events this perf can name: asked once, since one that it does not know spoils all."""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execution.execute import execute
from runner.execution.start_block import BASE_VARIABLES
from runner.perf.command import perf_stat

_known: dict[str, bool] = {}
"""What was found out of each event so far: perf is asked once in the life of the runner."""


def known_events(events: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split events into those that this perf can name and those it cannot.

    Raises
    ------
    FaultwatchError
        Where there is no perf.
    """
    asked = [event for event in events if event not in _known]
    if asked:
        together = _accepted(asked)
        _known.update({event: together or _accepted([event]) for event in asked})
    known = tuple(event for event in events if _known[event])
    return known, tuple(event for event in events if not _known[event])


def _accepted(events: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="faultwatch-") as scratch:
        try:
            done = execute(
                perf_stat(["true"], Path(scratch, "perf.csv"), events),
                directory=Path(scratch),
                environment=BASE_VARIABLES,
                timeout=20,
            )
        except FileNotFoundError:
            raise FaultwatchError(
                "perf is not installed", "Debian: apt install linux-perf; Ubuntu: linux-tools"
            ) from None
    return not re.search(r"event syntax error|unknown (?:tracepoint|event)|parser error", done.error)
