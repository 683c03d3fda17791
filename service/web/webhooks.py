"""Receives the webhooks of forges: verifies that the forge sent them, and stores them for a worker to handle later."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from http import HTTPStatus

from flask import Blueprint, request
from flask.typing import ResponseReturnValue

from runner.contract.gate import ForgeKind
from service.forges.extension import find_worker
from service.forges.qualified_names import qualify_name
from service.forges.registry import FORGES
from service.store import forge_queue as store
from service.store.models import ForgeDelivery
from service.web.app_resources import get_database
from service.web.problems import ProblemError, make_not_found

bp = Blueprint("webhooks", __name__)


@bp.post(f"/<any({', '.join(FORGES)}):name>/webhook")
def receive(name: str) -> ResponseReturnValue:
    """Store a delivery that concerns this service. A delivery that is sent twice is stored only once.

    Raises
    ------
    ProblemError
        404, where the service does not use this forge; 401, where the forge did not sign the delivery; 400, where its
        body is not a JSON object, or it has no id.
    """
    kind, worker = ForgeKind(name), find_worker()
    forge = worker.forges.get(kind) if worker else None
    if worker is None or forge is None:
        raise make_not_found(f"{FORGES[kind].role} of this service")
    body = request.get_data(cache=False)
    delivery = forge.read_delivery(lambda header_name: request.headers.get(header_name, ""), body)
    if delivery is None:
        raise ProblemError(HTTPStatus.UNAUTHORIZED, f"The {FORGES[kind].refusal_clause}.")
    if not request.is_json or not delivery.id or not _is_document(body):
        detail = "Send a JSON object as application/json, with the id of the delivery in the forge's header."
        raise ProblemError(HTTPStatus.BAD_REQUEST, detail)
    if not delivery.is_relevant:
        return {"taken": False}, HTTPStatus.OK
    now = datetime.now(UTC)
    row = ForgeDelivery(
        id=qualify_name(kind, delivery.id),
        digest=hashlib.sha256(body).hexdigest(),
        event=qualify_name(kind, delivery.event),
        payload=body.decode(errors="replace"),
        received_at=now,
        attempts=0,
        due_at=now,
    )
    with get_database().writing() as session:
        is_new = store.store_delivery(session, row)
    worker.wake()
    return {"taken": is_new}, HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK


def _is_document(body: bytes) -> bool:
    """Return whether a body is a JSON object."""
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False
