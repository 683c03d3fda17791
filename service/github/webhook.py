"""Where GitHub delivers its webhooks: the signature is checked, the delivery is kept, and the work is done later."""

from __future__ import annotations

import hashlib
import hmac
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import cast

from apiflask import APIFlask
from flask import Blueprint, Flask, current_app, request
from flask.typing import ResponseReturnValue

from service.api.problems import ProblemError, not_found
from service.config import Config
from service.current import database
from service.github.client import Client
from service.github.desk import Desk
from service.github.queue import Queue
from service.github.react import EVENTS
from service.store import github as store
from service.store.database import Database
from service.store.models import GithubDelivery

_EXTENSION = "faultwatch.github"
_ID = re.compile(r"[A-Za-z0-9-]{1,64}")

bp = Blueprint("github", __name__)


def register(app: APIFlask, data: Database, config: Config) -> None:
    """Let an application be told by GitHub and tell it, where it has an App."""
    app.register_blueprint(bp)
    if config.github is not None:
        app.extensions[_EXTENSION] = Queue(Desk(data, Client(config.github), config.github), config.home)


def queue(app: Flask | None = None) -> Queue | None:
    """Return the queue of an application; None where it has no App."""
    return cast(Queue | None, (app or current_app).extensions.get(_EXTENSION))


@bp.post("/github/webhook")
def webhook() -> ResponseReturnValue:
    """Take a delivery. The same one twice is taken once."""
    kept = queue()
    if kept is None:
        raise not_found("GitHub App of this service")
    body = request.get_data(cache=False)
    signature = request.headers.get("X-Hub-Signature-256", "")
    if not hmac.compare_digest(signature.encode(), signed(kept.desk.settings.secret, body).encode()):
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "The signature is not that of this body: X-Hub-Signature-256.")
    event, number = request.headers.get("X-GitHub-Event", ""), request.headers.get("X-GitHub-Delivery", "")
    if not request.is_json or not _ID.fullmatch(number):
        raise ProblemError(HTTPStatus.BAD_REQUEST, "Deliver JSON, with an X-GitHub-Delivery.")
    if event not in EVENTS:
        return {"taken": False}, HTTPStatus.OK
    now = datetime.now(UTC)
    row = GithubDelivery(
        id=number,
        digest=hashlib.sha256(body).hexdigest(),
        event=event,
        payload=body.decode(errors="replace"),
        received_at=now,
        attempts=0,
        due_at=now,
    )
    with database().writing() as session:
        taken = store.receive(session, row)
    kept.ring()
    return {"taken": taken}, HTTPStatus.ACCEPTED if taken else HTTPStatus.OK


def signed(secret: bytes, body: bytes) -> str:
    """Return the signature of a body."""
    return f"sha256={hmac.new(secret, body, hashlib.sha256).hexdigest()}"
