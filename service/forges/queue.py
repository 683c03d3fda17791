"""Wakes the worker of the forges: at once when work arrives, later when work is due.

The work itself is rows of the database. A wake-up that is lost with its process loses no work, because the worker looks
for due work at every start and every minute.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from huey import SqliteHuey, crontab
from huey.consumer import Consumer

from service.forges.worker import ForgeWorker
from service.jobs.queue_consumer import QuietConsumer

_POLL_SECONDS = 0.3
"""Longest delay of a wake-up."""
_FILE = "queue.db"


class ForgeQueue:
    """Wake-ups for the worker of the forges, and the thread in which it works."""

    def __init__(self, worker: ForgeWorker, home: Path) -> None:
        self.worker = worker
        home.mkdir(parents=True, exist_ok=True)
        self._huey = SqliteHuey("faultwatch", filename=str(home / _FILE), results=False)
        self._task = self._huey.task(name="work")(self._work)
        self._huey.periodic_task(crontab(minute="*"), name="look")(self._work)
        self._consumer: Consumer | None = None

    def wake(self) -> None:
        """Have the worker look for work."""
        self._task()

    def start(self) -> None:
        """Start working in a thread of this process, with the work left from before."""
        self._consumer = QuietConsumer(
            self._huey, workers=1, initial_delay=0.05, max_delay=_POLL_SECONDS, check_worker_health=False
        )
        self._consumer.start()
        self.wake()

    def stop(self) -> None:
        """Stop working."""
        if self._consumer is not None:
            self._consumer.stop(graceful=True)
            self._consumer = None

    def _work(self) -> None:
        due = self.worker.work()
        wait = (due - datetime.now(UTC)).total_seconds() if due else 60
        if wait < 60:  # else the next periodic look is early enough
            self._task.schedule(delay=max(wait, 0.1))
