"""Receives the webhooks of GitHub: checks the signature and stores the delivery; a worker handles it later."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from http import HTTPStatus

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from service.github.extension import queue
from service.github.signature import is_signed
from service.github.webhook_actions import EVENTS
from service.store import github as store
from service.store.models import GithubDelivery
from service.web.current import database
from service.web.problems import ProblemError, not_found

_ID = re.compile(r"[A-Za-z0-9-]{1,64}")

bp = Blueprint("github", __name__)


@bp.post("/github/webhook")
def webhook() -> ResponseReturnValue:
    """Store a delivery. The same one sent twice is stored once."""
    webhook_queue = queue()
    if webhook_queue is None:
        raise not_found("GitHub App of this service")
    body = request.get_data(cache=False)
    signature = request.headers.get("X-Hub-Signature-256", "")
    if not is_signed(webhook_queue.worker.settings.secret, body, signature):
        raise ProblemError(HTTPStatus.UNAUTHORIZED, "The signature in X-Hub-Signature-256 does not match the body.")
    event, number = request.headers.get("X-GitHub-Event", ""), request.headers.get("X-GitHub-Delivery", "")
    if not request.is_json or not _ID.fullmatch(number) or not _is_document(body):
        raise ProblemError(HTTPStatus.BAD_REQUEST, "Deliver a JSON object, with an X-GitHub-Delivery.")
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
    webhook_queue.wake()
    return {"taken": taken}, HTTPStatus.ACCEPTED if taken else HTTPStatus.OK


def _is_document(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False
