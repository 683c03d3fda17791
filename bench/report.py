"""What a benchmark prints: how far it is, on the error output; a table for people; one line of JSON for machines."""

import json
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from threading import Event, Thread
from typing import TypeVar

Item = TypeVar("Item")
_SECONDS = 5.0
"""Between two lines of progress."""
_SIGN_OF_LIFE = 30.0
"""Seconds after which a step that goes on says so."""
_last = float("-inf")


def is_full() -> bool:
    """Return whether the whole benchmark was asked for (``--full``), not the part that answers in a few minutes."""
    return "--full" in sys.argv[1:]


def list_words() -> list[str]:
    """Return the words of the command line, without options."""
    return [word for word in sys.argv[1:] if not word.startswith("--")]


def finish_report(name: str, misses: Sequence[str], figures: Mapping[str, object]) -> None:
    """Print the last line and leave with exit code 1 where something does not hold."""
    for miss in misses:
        print(f"does not hold: {miss}")
    print(json.dumps({"bench": name, "holds": not misses, "misses": list(misses), "figures": dict(figures)}))
    sys.exit(1 if misses else 0)


def show_progress(text: str, *, now: bool = False) -> None:
    """Show how far it is, at most every few seconds; with ``now`` in any case."""
    global _last  # noqa: PLW0603 - one output, whoever writes to it
    if now or time.monotonic() - _last >= _SECONDS:
        _last = time.monotonic()
        print(text, file=sys.stderr, flush=True)


def show_steps(items: Iterable[Item], what: str, number: int | None = None) -> Iterator[Item]:
    """Yield items; show how many are done, and how long the others take if each takes as long.

    Parameters
    ----------
    what
        What the items are, in the plural.
    number
        How many there are, if the iterable does not know.
    """
    if number is None:
        items = items if isinstance(items, Collection) else list(items)
        number = len(items)
    started = time.monotonic()
    ended = Event()
    shown = f"0 of {number:,} {what}"

    def show_life() -> None:
        while not ended.wait(_SIGN_OF_LIFE):
            show_progress(f"{shown} for {_format_duration(time.monotonic() - started)}")

    show_progress(shown, now=True)
    Thread(target=show_life, daemon=True).start()
    try:
        for result, item in enumerate(items):
            if result:
                shown = f"{result:,} of {number:,} {what}"
                seconds = (time.monotonic() - started) / result * (number - result)
                show_progress(f"{shown}, {_format_duration(seconds)} left")
            yield item
    finally:
        ended.set()


def _format_duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
