"""Nightly runs: hosts report the cells of the matrix that they carried out, and read the digest."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint
from pydantic import TypeAdapter, ValidationError

from runner.contract.night import NightDigest, NightName, NightPart
from service.store import nights
from service.web.access.ownership import hold, hold_night
from service.web.current import database
from service.web.problems import FieldError, ProblemError, not_found

bp = APIBlueprint("nights", __name__)

_NAME = TypeAdapter(NightName)


@bp.put("/nights/<name>")
@bp.input(NightPart)
@bp.output(NightDigest)
def put(name: str, json_data: NightPart) -> NightDigest:
    """Store cells of a nightly run, planned or carried out, and return its digest.

    The same cells may be sent again; planning them again does not undo what was carried out.
    """
    try:
        _NAME.validate_python(name)
    except ValidationError:
        raise ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "A night's name has letters, digits, '_', '.' and '-' only.",
            [FieldError(field="name", detail="is not a name")],
        ) from None
    owner = hold_night(name)
    # A plan names the cells of all hosts; what was carried out is reported by the host that did it.
    hold({cell.subject for cell in json_data.cells}, {cell.host for cell in json_data.cells if cell.carried_out})
    with database().writing() as session:
        nights.store(session, name, json_data, owner, datetime.now(UTC))
    return _find(name)


@bp.get("/nights/<name>")
@bp.output(NightDigest)
def get(name: str) -> NightDigest:
    """Return the digest of a nightly run."""
    return _find(name)


def _find(name: str) -> NightDigest:
    with database().reading() as session:
        found = nights.find(session, name)
    if found is None:
        raise not_found(f"night {name}")
    return found
