"""What the service does beside answering: looks at whole suites, and tells what is new."""

from __future__ import annotations

import logging
import os
import threading
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError

from service.config import notifications
from service.config.settings import Config
from service.errors import ServiceError
from service.notify import delivery
from service.pipeline import accept_merged, detect_suite_shifts
from service.store.engine.database import Database

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two rounds. A round that finds nothing to do is a few queries."""


def start(database: Database, config: Config) -> threading.Event:
    """Begin the rounds, in a thread that ends with the process or when the event is set."""
    stop = threading.Event()

    def work() -> None:
        said = ""
        while not stop.wait(EVERY):
            said = _round(database, config, said)

    threading.Thread(target=work, daemon=True, name="background").start()
    return stop


def _round(database: Database, config: Config, said: str) -> str:
    """Do one round; what is wrong is said once, not every time."""
    try:
        detect_suite_shifts.look(database)
        accept_merged.settle(database, datetime.now(UTC))
        delivery.run(database, notifications.load(config.home, os.environ), os.environ, datetime.now(UTC))
    except (ServiceError, SQLAlchemyError) as error:
        if str(error) != said:
            log.error("nothing can be told: %s", error)
        return str(error)
    except Exception:  # whatever it is, the next round comes
        log.exception("a round of the background work crashed")
    return ""
