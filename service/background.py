"""Background work of the service: looks for shifts of whole suites, and sends notifications."""

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

INTERVAL = 10.0
"""Seconds between two rounds. A round with nothing to do takes a few queries."""


def start(database: Database, config: Config) -> threading.Event:
    """Start the rounds in a daemon thread; return an event that stops it."""
    stop = threading.Event()

    def work() -> None:
        last_error = ""
        while not stop.wait(INTERVAL):
            last_error = _round(database, config, last_error)

    threading.Thread(target=work, daemon=True, name="background").start()
    return stop


def _round(database: Database, config: Config, last_error: str) -> str:
    """Do one round; return its error. An error is logged once, not in every round."""
    try:
        detect_suite_shifts.detect_shifts(database)
        accept_merged.settle(database, datetime.now(UTC))
        channels = notifications.load(config.home, config.notifications)
        delivery.run_round(database, channels, os.environ, datetime.now(UTC))
    except (ServiceError, SQLAlchemyError) as error:
        if str(error) != last_error:
            log.error("notifications cannot be sent: %s", error)
        return str(error)
    except Exception:  # the next round tries again
        log.exception("a round of the background work crashed")
    return ""
