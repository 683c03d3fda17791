"""Runs tasks in the background: each at an interval, when it falls due, or at once when it is woken.

One thread starts the tasks. Each run has its own thread, so a slow receiver of notifications does not delay a
webhook. In one process a task never runs twice at a time; an exclusive task never does so in all processes together.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from service.errors import ServiceError
from service.store.engine.database import Database

log = logging.getLogger(__name__)

_BUSY_SECONDS = 1.0
"""When to try an exclusive task again that runs in another process: unlike its interval, so that processes that started
together do not stay in step, one of them without ever a turn."""
_MIN_WAIT_SECONDS = 0.1
"""Seconds between two runs of a task that says it is due at once."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the background.

    Attributes
    ----------
    name
        Names it in the log, and its lock.
    work
        Does what is due, and returns when more is due; None for the end of the interval.
    interval
        Longest time between two runs, in seconds. A task that failed runs again after it.
    exclusive
        Whether it runs in one process of the service at a time.
    delay
        Seconds from the start of the scheduler to the first run.
    """

    name: str
    work: Callable[[], datetime | None]
    interval: float
    exclusive: bool = False
    delay: float = 0.0


@dataclass(slots=True)
class _Entry:
    task: Task
    due: float = math.inf
    """When the next run is due, by the monotonic clock. A wake-up during a run makes another run due."""
    running: bool = False
    error: str = ""
    """The error of the last run, which is logged once and not at every attempt."""


@dataclass(slots=True)
class BackgroundScheduler:
    """Runs the tasks of one process."""

    database: Database
    tasks: Iterable[Task]
    _entries: dict[str, _Entry] = field(init=False)
    _changed: threading.Condition = field(default_factory=threading.Condition, init=False)
    _stopping: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._entries = {task.name: _Entry(task) for task in self.tasks}

    def start(self) -> None:
        """Start running the tasks, in daemon threads."""
        now = time.monotonic()
        with self._changed:
            for entry in self._entries.values():
                entry.due = min(entry.due, now + entry.task.delay)
        threading.Thread(target=self._start_due_tasks, daemon=True, name="background").start()

    def wake(self, *names: str) -> None:
        """Run tasks at once; those that are running, once more."""
        with self._changed:
            for name in names:
                self._entries[name].due = -math.inf
            self._changed.notify_all()

    def stop(self, seconds: float) -> bool:
        """Start no more tasks; wait for those under way, up to some seconds. Return whether they have ended."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not any(entry.running for entry in self._entries.values()), seconds)

    def _start_due_tasks(self) -> None:
        """Start each task when it is due, until the service stops."""
        with self._changed:
            while not self._stopping:
                now = time.monotonic()
                for entry in self._entries.values():
                    if not entry.running and entry.due <= now:
                        self._start_task(entry, now)
                next_due = min((entry.due for entry in self._entries.values() if not entry.running), default=math.inf)
                self._changed.wait(None if next_due == math.inf else max(0.0, next_due - now))

    def _start_task(self, entry: _Entry, now: float) -> None:
        """Start a run of a task in a thread of its own; delay it if the system has no thread left."""
        entry.running, entry.due = True, math.inf
        try:
            threading.Thread(target=self._run_repeatedly, args=(entry,), daemon=True, name=entry.task.name).start()
        except RuntimeError as error:  # the system has no thread left
            log.error("%s is delayed: %s", entry.task.name, error)
            entry.running, entry.due = False, now + entry.task.interval

    def _run_repeatedly(self, entry: _Entry) -> None:
        """Run a task once and set when it is due again; log an error once."""
        wait = entry.task.interval
        try:
            wait = self._run_once(entry.task)
            entry.error = ""
        except Exception as error:  # the task is tried again, and the others continue
            _log_error(entry, error)
        finally:
            with self._changed:
                entry.running, entry.due = False, min(entry.due, time.monotonic() + wait)
                self._changed.notify_all()

    def _run_once(self, task: Task) -> float:
        """Run a task; return the seconds to the next run."""
        if task.exclusive:
            with self.database.run_exclusively(task.name) as is_locked:
                if not is_locked:
                    return min(_BUSY_SECONDS, task.interval)
                is_due = task.work()
        else:
            is_due = task.work()
        if is_due is None:
            return task.interval
        return min(max((is_due - datetime.now(UTC)).total_seconds(), _MIN_WAIT_SECONDS), task.interval)


def _log_error(entry: _Entry, error: Exception) -> None:
    """Log an error, unless the last run had the same one."""
    text, task = f"{type(error).__name__}: {error}", entry.task
    if text == entry.error:
        return
    entry.error = text
    if isinstance(error, (ServiceError, SQLAlchemyError)):  # the message says it all
        log.error("%s failed and will be retried every %g s: %s", task.name, task.interval, error)
    else:
        log.error("%s crashed and will be retried every %g s", task.name, task.interval, exc_info=error)
