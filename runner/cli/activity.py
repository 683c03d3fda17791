"""Shows on standard error what a command is doing, its progress, and the remaining time.

On a terminal, this is a single line that is removed at the end. In a log, a plain line every half minute shows a CI
system that the command is alive.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from runner.cli.terminal import get_console, print_message
from runner.cli.time_estimate import Pace

INTERVAL_SECONDS = 30.0
"""Seconds between the lines in a log."""
_MOMENT_SECONDS = 10
"""A remaining time below this, in seconds, is not shown."""


def format_time_left(seconds: float) -> str:
    """Return a remaining time in words; empty if it is only a moment."""
    minutes, hours = seconds / 60, seconds / 3600
    if seconds < _MOMENT_SECONDS:
        return ""
    if minutes < 1.5:
        return f"about {round(seconds, -1):.0f} s left"
    return f"about {minutes:.0f} min left" if hours < 1.5 else f"about {hours:.1f} h left"


def format_time_spent(seconds: float) -> str:
    """Return a duration: 12 s, or 3 min 20 s."""
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


class Activity:
    """Work whose progress is shown. Call it with a text that says what is being done now."""

    def __init__(
        self, text: str, clock: Callable[[], float] = time.monotonic, format_left: Callable[[], str] | None = None
    ) -> None:
        """Begin some work.

        Parameters
        ----------
        text
            What is done first.
        clock
            Returns the current time in seconds.
        format_left
            Returns the remaining time in words, for work whose steps take unequal times. By default, the time is
            estimated as if all remaining steps took equally long.
        """
        self._clock = clock
        self._format_left = format_left
        self._started_at = clock()
        self._pace: Pace | None = None
        self._remaining_steps: int | None = None
        self.text = text
        self.done = 0
        self.on_change: Callable[[], None] = lambda: None  # the code that shows this activity replaces it

    def __call__(self, text: str) -> None:
        """Set the text that says what is being done now."""
        self.text = text
        self.on_change()

    def set_remaining_steps(self, n_steps: int) -> None:
        """Set the known number of remaining steps, such as executions."""
        if self._remaining_steps is None:
            # The duration of earlier work, such as a build, must not count for the duration of a step.
            self._pace = Pace(self._clock())
        self._remaining_steps = max(0, n_steps)
        self.on_change()

    def advance(self, n_steps: int = 1) -> None:
        """Count steps that have ended."""
        self.done += n_steps
        if self._pace:
            self._pace.advance(self._clock(), n_steps)
        if self._remaining_steps is not None:
            self._remaining_steps -= n_steps
        self.on_change()

    def add_unplanned_steps(self, n_steps: int) -> None:
        """Correct the number of remaining steps, after ``n_steps`` that were not planned have ended.

        The number is negative if planned steps are not needed.
        """
        if self._remaining_steps is not None:
            self._remaining_steps += n_steps
        self.on_change()

    @property
    def total(self) -> int | None:
        """The number of all steps, including those that have ended; None if unknown."""
        return None if self._remaining_steps is None else self.done + max(0, self._remaining_steps)

    @property
    def time_left(self) -> str:
        """The remaining time in words; empty if unknown."""
        if self._format_left:
            return self._format_left()
        return (
            format_time_left(self._pace.estimate_time_left(self._clock(), max(0, self._remaining_steps or 0)))
            if self._pace
            else ""
        )

    def format_line(self) -> str:
        """Return the state as a line of text."""
        steps_text = f"{self.done} of {self.total} steps" if self.total else ""
        parts = (self.text, steps_text, format_time_spent(self._clock() - self._started_at), self.time_left)
        return ", ".join(part for part in parts if part)


@contextmanager
def show_activity(text: str) -> Iterator[Activity]:
    """Show an activity until the context ends."""
    activity = Activity(text)
    with _show_bar(activity) if sys.stderr.isatty() else write_lines(activity, INTERVAL_SECONDS, print_message):
        yield activity


@contextmanager
def _show_bar(activity: Activity) -> Iterator[None]:
    """Show an activity as a line with a spinner, the time, and a bar, until the context ends."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from runner.cli.formatting import escape_text

    columns: list[Any] = [
        SpinnerColumn(),
        TimeElapsedColumn(),
        BarColumn(bar_width=16),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[left]}"),
    ]
    with Progress(*columns, console=get_console(), transient=True, disable=get_console().quiet) as progress:
        # Without a total, the bar only pulses.
        task = progress.add_task(escape_text(activity.text), total=None, left="")

        def update() -> None:
            """Draw the present state of the activity."""
            progress.update(
                task,
                description=escape_text(activity.text),
                completed=activity.done,
                total=activity.total,
                left=escape_text(activity.time_left),
            )

        activity.on_change = update
        yield


@contextmanager
def write_lines(activity: Activity, interval_seconds: float, write: Callable[[str], None]) -> Iterator[None]:
    """Write a line of progress at regular intervals, from a thread of its own, until the context ends."""
    has_ended = threading.Event()

    def report() -> None:
        while not has_ended.wait(interval_seconds):
            write(activity.format_line())

    reporter = threading.Thread(target=report, name="activity", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        has_ended.set()
        reporter.join()
