"""perf record on a running program, opened and closed on command as the counters are."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.perf.attach import ControlledPerf

_MOST = "1G"
"""Of one recording: a program can do without end what is recorded. perf stops there, and what is missing is stated."""
_BUFFER_PAGES = 8192
"""Of each CPU's buffer, for those who may lock so much memory: half a million records of faults."""


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """What one perf records.

    Attributes
    ----------
    options
        Of perf record: the events, their period, what to keep of each.
    output
        The file it writes; all that is in it is strangers' material.
    """

    options: tuple[str, ...]
    output: Path


class Tracer(Protocol):
    """What else watches a program from before its start to its end."""

    def attach(self, processes: Sequence[int]) -> None:
        """Begin, with processes that wait meanwhile."""

    def close(self) -> None:
        """Wait until it has noticed that they ended."""


@dataclass(frozen=True, slots=True)
class Recording:
    """All that is recorded of one execution."""

    plans: tuple[RecordPlan, ...]
    tracer: Tracer | None = None


class Recorder(ControlledPerf):
    """One perf record."""

    def __init__(self, plan: RecordPlan, processes: Sequence[int]) -> None:
        # Without build ids and their cache: perf would read each binary again when it ends.
        words = ("record", "-q", "-N", "-B", "--max-size", _MOST, *_buffers(), *plan.options, "-o", str(plan.output))
        super().__init__(words, processes)

    def finish(self) -> None:
        """Let perf write out what it has."""
        self.end(patience=30)


def _buffers() -> tuple[str, ...]:
    return ("-m", str(_BUFFER_PAGES)) if os.geteuid() == 0 else ()
