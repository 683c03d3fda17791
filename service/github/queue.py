"""Says when there is work for GitHub: at once where something came in, later where GitHub asked for patience.

What is to be done are rows of the database. This only rings: a ring that is lost with the process that heard it loses
nothing, since all that is due is looked for at every start and every minute.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from huey import SqliteHuey, crontab
from huey.consumer import Consumer

from service.github.worker import GithubWorker
from service.jobs.queue_consumer import QuietConsumer

_LOOK_SECONDS = 0.3
"""How long a ring may go unheard."""
_FILE = "queue.db"


class Queue:
    """Rings, and a thread that hears them."""

    def __init__(self, worker: GithubWorker, home: Path) -> None:
        self.worker = worker
        home.mkdir(parents=True, exist_ok=True)
        self._huey = SqliteHuey("faultwatch", filename=str(home / _FILE), results=False)
        self._task = self._huey.task(name="work")(self._work)
        self._huey.periodic_task(crontab(minute="*"), name="look")(self._work)
        self._consumer: Consumer | None = None

    def ring(self) -> None:
        """Say that there is something to do."""
        self._task()

    def start(self) -> None:
        """Begin to work, in a thread of this process; what was left undone comes first."""
        self._consumer = QuietConsumer(
            self._huey, workers=1, initial_delay=0.05, max_delay=_LOOK_SECONDS, check_worker_health=False
        )
        self._consumer.start()
        self.ring()

    def stop(self) -> None:
        """End it."""
        if self._consumer is not None:
            self._consumer.stop(graceful=True)
            self._consumer = None

    def _work(self) -> None:
        due = self.worker.work()
        wait = (due - datetime.now(UTC)).total_seconds() if due else 60
        if wait < 60:  # else the next look is early enough
            self._task.schedule(delay=max(wait, 0.1))
