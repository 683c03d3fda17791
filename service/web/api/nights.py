"""Nightly runs: hosts report the cells of the matrix that they carried out, and read the digest."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from runner.contract.night import NightDigest, NightName, NightPart
from service.store import nights, told_drifts
from service.store.series import SeriesFilter
from service.web.access.ownership import hold, hold_night
from service.web.api import judged
from service.web.current import database
from service.web.problems import FieldError, ProblemError, not_found

bp = APIBlueprint("nights", __name__)


class NightQuery(BaseModel):
    """How to return a night."""

    model_config = ConfigDict(extra="forbid")

    judged: bool = Field(default=False, description="Answer once all of its runs are judged.")


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
@bp.input(NightQuery, location="query")
@bp.output(NightDigest)
def get(name: str, query_data: NightQuery) -> NightDigest:
    """Return the digest of a nightly run.

    With `judged`, its runs are judged first, and it tells the drifts that were found so; where that takes long, the
    answer is 503 with Retry-After.
    """
    if query_data.judged:
        with database().reading() as session:
            measured = nights.measured(session, name)
        judged.settle(*(SeriesFilter(subject=subject, host=host) for subject, host in measured))
        with database().reading() as session:
            news = nights.untold(session, name)
        if news:
            with database().writing({subject for subject, _ in measured}) as session:
                told_drifts.tell(session, name, news)
    return _find(name)


def _find(name: str) -> NightDigest:
    with database().reading() as session:
        found = nights.find(session, name)
    if found is None:
        raise not_found(f"night {name}")
    return found
