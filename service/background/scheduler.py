"""Runs tasks in the background: each at an interval, when more work falls due, or immediately when it is woken.

One thread starts the tasks. Each run of a task has its own thread, so a slow receiver of notifications does not delay
the handling of a webhook. Two runs of a task never overlap within a process; two runs of an exclusive task never
overlap at all, not even in different processes of the service.
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
"""Seconds after which an exclusive task is tried again if it is running in another process. They differ from its
interval: otherwise, of two processes that started together, one would always find the task running."""
_MIN_WAIT_SECONDS = 0.1
"""The minimum of seconds between two runs of a task, even if it is due immediately."""


@dataclass(frozen=True, slots=True)
class Task:
    """A background task.

    Attributes
    ----------
    name
        The name of the task in the log, and of its lock.
    work
        Does the work that is due, and returns the time at which more is due; None for the end of the interval.
    interval
        The longest time between two runs, in seconds. A failed task is retried after this time.
    exclusive
        Whether the task runs in only one process of the service at a time.
    delay
        The time from the start of the scheduler to the first run, in seconds.
    """

    name: str
    work: Callable[[], datetime | None]
    interval: float
    exclusive: bool = False
    delay: float = 0.0


@dataclass(slots=True)
class _TaskState:
    """A task with the time of its next run and the result of its last one."""

    task: Task
    due: float = math.inf
    """The time of the next run, by the monotonic clock: infinite if none is due, and minus infinite after a wake-up.
    A wake-up during a run makes another run due."""
    running: bool = False
    error: str = ""
    """The error of the last run. It is remembered so that a repeated error is logged only once."""


@dataclass(slots=True)
class BackgroundScheduler:
    """Runs the tasks of one process."""

    database: Database
    tasks: Iterable[Task]
    _states: dict[str, _TaskState] = field(init=False)
    _state_changed: threading.Condition = field(default_factory=threading.Condition, init=False)
    _is_stopping: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._states = {task.name: _TaskState(task) for task in self.tasks}

    def start(self) -> None:
        """Start running the tasks, in daemon threads."""
        now = time.monotonic()
        with self._state_changed:
            for state in self._states.values():
                state.due = min(state.due, now + state.task.delay)
        threading.Thread(target=self._start_due_tasks, daemon=True, name="background").start()

    def wake(self, *names: str) -> None:
        """Run tasks immediately; those that are running are run once more afterwards."""
        with self._state_changed:
            for name in names:
                self._states[name].due = -math.inf
            self._state_changed.notify_all()

    def stop(self, seconds: float) -> bool:
        """Start no more tasks, and wait at most some seconds for running ones; return whether all have ended."""
        with self._state_changed:
            self._is_stopping = True
            self._state_changed.notify_all()
            return self._state_changed.wait_for(
                lambda: not any(state.running for state in self._states.values()), seconds
            )

    def _start_due_tasks(self) -> None:
        """Start each task when it is due, until the service stops."""
        with self._state_changed:
            while not self._is_stopping:
                now = time.monotonic()
                for state in self._states.values():
                    if not state.running and state.due <= now:
                        self._start_task(state, now)
                next_due = min((state.due for state in self._states.values() if not state.running), default=math.inf)
                self._state_changed.wait(None if next_due == math.inf else max(0.0, next_due - now))

    def _start_task(self, state: _TaskState, now: float) -> None:
        """Start a run of a task in its own thread; delay the run if the system cannot create a thread."""
        state.running = True
        state.due = math.inf
        try:
            threading.Thread(
                target=self._run_and_reschedule_task, args=(state,), daemon=True, name=state.task.name
            ).start()
        except RuntimeError as error:  # The system cannot create a thread.
            log.error("%s is delayed: %s", state.task.name, error)
            state.running = False
            state.due = now + state.task.interval

    def _run_and_reschedule_task(self, state: _TaskState) -> None:
        """Run a task once, and set the time of its next run; log an error unless it was logged before."""
        wait = state.task.interval
        try:
            wait = self._run_once(state.task)
            state.error = ""
        except Exception as error:  # The task is retried, and must not affect the others.
            _log_error(state, error)
        finally:
            with self._state_changed:
                state.running = False
                state.due = min(state.due, time.monotonic() + wait)  # It may have been woken meanwhile.
                self._state_changed.notify_all()

    def _run_once(self, task: Task) -> float:
        """Run a task, unless it is exclusive and running elsewhere; return the seconds to the next run."""
        if task.exclusive:
            with self.database.run_exclusively(task.name) as is_locked:
                if not is_locked:
                    return min(_BUSY_SECONDS, task.interval)
                next_due_at = task.work()
        else:
            next_due_at = task.work()
        if next_due_at is None:
            return task.interval
        return min(max((next_due_at - datetime.now(UTC)).total_seconds(), _MIN_WAIT_SECONDS), task.interval)


def _log_error(state: _TaskState, error: Exception) -> None:
    """Log an error, unless the last run had the same one."""
    task = state.task
    text = f"{type(error).__name__}: {error}"
    if text == state.error:
        return
    state.error = text
    if isinstance(error, (ServiceError, SQLAlchemyError)):  # The message is sufficient, without a traceback.
        log.error("%s failed and will be retried every %g s: %s", task.name, task.interval, error)
    else:
        log.error("%s crashed and will be retried every %g s", task.name, task.interval, exc_info=error)
