"""A door: a place where input of strangers enters. Each one takes mutations of real inputs, one after the other."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol, cast

from tests.fuzz import doors

Attempt = Callable[[Random], str]
"""Sends one input that a generator makes; returns what became of it, in a word. It raises where the door broke."""

LATEST_SECONDS = 2.0
MOST_BYTES = 512 << 20


class Door(Protocol):
    """A module of :mod:`tests.fuzz.doors`."""

    SHARE: int
    """Inputs of each thousand that go to this door: the cheaper an input, the more."""

    def opened(self, folder: Path) -> AbstractContextManager[Attempt]:
        """Open the door; files go into an empty folder."""
        ...


def names() -> list[str]:
    """Return the names of all doors."""
    return sorted(module.name for module in pkgutil.iter_modules(doors.__path__))


def load(name: str) -> Door:
    """Return a door by its name."""
    return cast(Door, importlib.import_module(f"{doors.__name__}.{name}"))


def shares(inputs: int, chosen: list[str]) -> dict[str, int]:
    """Divide a number of inputs among doors."""
    total = sum(load(name).SHARE for name in chosen)
    given = {name: inputs * load(name).SHARE // total for name in chosen}
    given[chosen[0]] += inputs - sum(given.values())
    return given


@dataclass
class Result:
    """What became of the inputs of one door."""

    inputs: int = 0
    fates: Counter[str] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Seconds."""
    peak: int = 0
    """Bytes of memory, at most, of the process."""


def fuzz(name: str, folder: Path, inputs: int, seed: int, first: int = 0) -> Result:
    """Send inputs to a door. Each one depends on the seed and its number only, so that it can be made again."""
    result = Result()
    watch = _ErrorLog()
    logging.getLogger().addHandler(watch)
    logging.getLogger("service").setLevel(logging.ERROR)
    try:
        with load(name).opened(folder) as attempt:
            for number in range(first, first + inputs):
                problem = _one(attempt, f"{seed} {name} {number}", result, watch)
                result.inputs += 1
                if problem:
                    result.misses.append(f"{name} {number}: {problem}")
        result.peak = _peak()
    finally:
        logging.getLogger().removeHandler(watch)
    if result.peak > MOST_BYTES:
        result.misses.append(f"{name}: {result.peak >> 20} MiB of memory")
    return result


def _one(attempt: Attempt, seed: str, result: Result, watch: _ErrorLog) -> str:
    watch.messages.clear()
    seconds = float("inf")
    # On a busy machine anything can take long once: what is slow three times is slow itself.
    for _ in range(3):
        began = time.monotonic()
        try:
            fate = attempt(Random(seed))
        except Exception as error:  # whatever it is: that is what is looked for
            return f"{type(error).__name__}: {error!s:.500}"
        seconds = min(seconds, time.monotonic() - began)
        if seconds <= LATEST_SECONDS:
            break
    result.fates[fate] += 1
    result.slowest = max(result.slowest, seconds)
    if watch.messages:
        return f"logged: {watch.messages[0]:.1000}"
    return f"took {seconds:.1f} s" if seconds > LATEST_SECONDS else ""


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


class _ErrorLog(logging.Handler):
    """Keeps the errors that are logged in any thread: work in the background may break as well."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        self.messages.append(text)
