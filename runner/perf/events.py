"""Which events this perf can name: asked once, since one that it does not know spoils all."""

import re
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from runner.errors import FaultwatchError
from runner.execute import execute
from runner.perf.command import perf_stat
from runner.state.start import BASE_VARIABLES


@lru_cache
def known_events(events: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split events into those that this perf can name and those it cannot.

    Raises
    ------
    FaultwatchError
        Where there is no perf.
    """
    if _accepted(events):
        return events, ()
    known = tuple(event for event in events if _accepted((event,)))
    if not known:
        # perf itself does not work: let the execution say why.
        return events, ()
    return known, tuple(event for event in events if event not in known)


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
