"""The queue that an application keeps of work for GitHub, where it is an App.

What it takes to speak to GitHub is only imported there: it is a fifth of the time in which a service starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from flask import Flask, current_app

from service.config import Config
from service.store.database import Database

if TYPE_CHECKING:
    from service.github.queue import Queue

_EXTENSION = "faultwatch.github"


def keep(app: Flask, data: Database, config: Config) -> None:
    """Let an application be told by GitHub and tell it, where it has an App."""
    if config.github is not None:
        from service.github.client import Client  # noqa: PLC0415 - see above
        from service.github.desk import Desk  # noqa: PLC0415
        from service.github.queue import Queue  # noqa: PLC0415

        app.extensions[_EXTENSION] = Queue(Desk(data, Client(config.github), config.github), config.home)


def queue(app: Flask | None = None) -> Queue | None:
    """Return the queue of an application; None where it has no App."""
    return cast("Queue | None", (app or current_app).extensions.get(_EXTENSION))
