"""The API of nightly runs: hosts report the cells that they have carried out, and read the digest."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from runner.contract.nightly import NightlyDigest, NightlyName, NightlyPart
from service.nightly.queries import nightly_drifts, nightly_runs
from service.store.series.series import SeriesFilter
from service.web.access.token_limits_and_ownership import require_access_to_report, require_own_nightly_run
from service.web.api import judging_wait
from service.web.app_resources import get_database
from service.web.problems import FieldError, ProblemError, make_not_found

bp = APIBlueprint("nightly_runs", __name__)


class NightlyQuery(BaseModel):
    """The options of a request for a nightly run."""

    model_config = ConfigDict(extra="forbid")

    judged: bool = Field(default=False, description="Answer only when all runs of the nightly run have been judged.")


_NAME = TypeAdapter(NightlyName)


@bp.put("/nightly-runs/<name>")
@bp.input(NightlyPart)
@bp.output(NightlyDigest)
def put(name: str, json_data: NightlyPart) -> NightlyDigest:
    """Store cells of a nightly run, planned or carried out, and return its digest.

    The same cells may be sent again; planning them again does not undo what was carried out.
    """
    try:
        _NAME.validate_python(name)
    except ValidationError:
        raise ProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "A nightly run's name may contain only letters, digits, '_', '.' and '-'.",
            [FieldError(field="name", detail="contains a character that is not allowed, or is too long")],
        ) from None
    owner = require_own_nightly_run(name)
    # A plan contains the cells of all hosts, but a cell that was carried out must be reported by its own host.
    require_access_to_report(
        {cell.subject for cell in json_data.cells}, {cell.host for cell in json_data.cells if cell.carried_out}
    )
    with get_database().writing() as session:
        nightly_runs.store_cells(session, name, json_data, owner, datetime.now(UTC))
    return _find_nightly_run(name)


@bp.get("/nightly-runs/<name>")
@bp.input(NightlyQuery, location="query")
@bp.output(NightlyDigest)
def get(name: str, query_data: NightlyQuery) -> NightlyDigest:
    """Return the digest of a nightly run.

    With `judged`, its runs are judged first, so that it contains their drifts; if that takes long, the response is 503
    with Retry-After.
    """
    if query_data.judged:
        with get_database().reading() as session:
            measured_subjects = nightly_runs.list_measured_subjects(session, name)
        judging_wait.judge_series_or_refuse(
            *(SeriesFilter(subject=subject, host=host) for subject, host in measured_subjects)
        )
        with get_database().reading() as session:
            new_drifts = nightly_runs.find_unreported_drifts(session, name)
        if new_drifts:
            with get_database().writing({subject for subject, _ in measured_subjects}) as session:
                nightly_drifts.mark_drifts_as_reported(session, name, new_drifts)
    return _find_nightly_run(name)


def _find_nightly_run(name: str) -> NightlyDigest:
    """Return the digest of a nightly run; answer 404 if there is no run of this name."""
    with get_database().reading() as session:
        nightly_run = nightly_runs.find_nightly_run(session, name)
    if nightly_run is None:
        raise make_not_found(f"nightly run {name}")
    return nightly_run
