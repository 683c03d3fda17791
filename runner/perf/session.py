"""One execution of a command under perf stat, in a fixed process state: what was read, and what the program printed."""

import os
import re
import signal
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from runner.contract.report import Reading, Sample, Status
from runner.errors import FaultwatchError
from runner.execute import execute
from runner.perf.command import SEPARATOR, STANDING_EVENTS, perf_stat
from runner.perf.parse import PerfOutputError, parse_csv
from runner.perf.region import EVENTS as REGION_EVENTS
from runner.perf.region import Region
from runner.state.process import ProcessState
from runner.state.start import BASE_VARIABLES, padded


class ExecutionFailure(Exception):
    """The program did not do its work: crashed, hung, ended with an error or was not there."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.log = log


@dataclass(frozen=True, slots=True)
class Execution:
    """What one execution brought: a sample of raw readings, and the program's output."""

    sample: Sample
    output: str


def count(
    command: Sequence[str],
    *,
    directory: Path,
    state: ProcessState,
    timeout: float,
    events: Sequence[str] = (),
    region: bool = False,
) -> Execution:
    """Run a command once under perf stat.

    Parameters
    ----------
    events
        To count besides the standing ones.
    timeout
        Seconds.
    region
        Also count the region that the program opens, beside the whole of it.

    Raises
    ------
    ExecutionFailure
        Where the program is to blame.
    FaultwatchError
        Where perf is: it is missing, forbidden, or printed what cannot be understood.
    """
    _check_executable(command[0], directory, state)
    known, unknown = _known_events((*STANDING_EVENTS, *events))
    with tempfile.TemporaryDirectory(prefix="faultwatch-") as scratch, ExitStack() as stack:
        result = Path(scratch, "perf.csv")
        environment = state.environment
        companion = None
        if region:
            companion = stack.enter_context(Region(Path(scratch), environment, _known_events(REGION_EVENTS)[0]))
            environment = environment | companion.variables
        with state.applied() as enter:
            done = execute(
                [*enter, *perf_stat(command, result, known)],
                directory=directory,
                environment=padded(environment, command),
                timeout=timeout,
                companion=companion,
            )
        text = result.read_text(encoding="utf-8", errors="replace") if result.exists() else ""
        in_region = companion.readings() if companion else {}
    trouble = done.trouble or _crash(command[0], done.error) or _unloaded(done.error)
    if not text.strip() and done.status not in {None, 0}:
        raise FaultwatchError(
            f"perf stat failed: {_last_line(done.error) or trouble}",
            "run `faultwatch doctor` to see what this host forbids",
        )
    if trouble:
        raise ExecutionFailure(f"`{' '.join(command)}` {trouble}", _log(done.output, done.error))
    try:
        parsed = parse_csv(text, SEPARATOR, asked=known)
    except PerfOutputError as error:
        raise FaultwatchError(f"perf stat printed what cannot be understood: {error}") from None
    readings = dict(parsed.readings)
    for name in unknown:
        readings[name] = Reading(status=Status.NOT_SUPPORTED, reason="this version of perf does not know the event")
    readings |= in_region
    return Execution(Sample(readings=readings, perf_output=text), done.output)


def _check_executable(program: str, directory: Path, state: ProcessState) -> None:
    """Tell a missing program from one that fails: perf reports both with an exit code of its own."""
    if "/" in program:
        places = [directory / program]
    else:
        places = [Path(folder, program) for folder in state.environment["PATH"].split(":")]
    if any(os.access(place, os.X_OK) and place.is_file() for place in places):
        return
    if any(place.is_file() for place in places):
        raise ExecutionFailure(f"{program!r} is not executable")
    raise ExecutionFailure(f"the command {program!r} was not found: the build does not make it, or it is misspelt")


def _crash(program: str, error: str) -> str:
    """Find out whether a signal ended the program.

    perf stat then exits with 0 and leaves it at a line of psignal(3) on standard error: ``./prog: Segmentation fault``.
    """
    last = _last_line(error)
    for number in signal.valid_signals():
        if last == f"{program}: {signal.strsignal(number)}":
            return f"was ended by {signal.Signals(number).name}"
    return ""


def _unloaded(error: str) -> str:
    """Find out whether the loader left out a library of LD_PRELOAD: it says so and goes on with another allocator."""
    ignored = re.search(r"ld\.so: object '([^']*)' from LD_PRELOAD cannot be preloaded", error)
    return f"ran without {ignored[1]!r} of LD_PRELOAD, which could not be loaded" if ignored else ""


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _log(output: str, error: str) -> str:
    parts = [("standard error", error), ("standard output", output)]
    return "\n".join(f"--- {title}\n{text[-20_000:].rstrip()}" for title, text in parts if text.strip())


@lru_cache
def _known_events(events: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split events into those that this perf can name and those it cannot; asked once, since one unknown spoils all."""
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
