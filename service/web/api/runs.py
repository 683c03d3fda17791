"""Runs: sent by runners, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from io import StringIO
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response
from pydantic import Field

from runner.contract import Outcome, Receipts, Report, ReportList, build_suite
from service.pipeline import ingest_reports, judging_schedule
from service.schemas.history import RunPage, RunReceipt
from service.store.runs import fast_parse, runs
from service.web.access.token_limits_and_ownership import require_access_to_report
from service.web.api.body import PageQuery, register_reader
from service.web.app_resources import get_database
from service.web.concurrency_limits import admit_requests, find_admission
from service.web.problems import ProblemError, make_field_problem, make_not_found

bp = APIBlueprint("runs", __name__)

Reports = Sequence[Report | fast_parse.PlainReport]
register_reader(ReportList, fast_parse.parse_reports)


class RunQuery(PageQuery):
    """The filters of a list of runs."""

    subject: str | None = None
    case: str | None = None
    revision: str | None = Field(default=None, description="The commit: its hash, or the first digits of the hash.")
    outcome: Outcome | None = None
    host: str | None = None
    quarantined: bool | None = None


@bp.put("/runs/<uuid:run_id>")
@admit_requests
@bp.input(Report)
@bp.output(RunReceipt)
@bp.doc(responses={201: "Stored"})
def put(run_id: UUID, json_data: Report) -> tuple[RunReceipt, int]:
    """Store a report.

    The same report may be sent again: it is stored once, and the status is 200 instead of 201. A different report with
    the same id is refused.
    """
    if json_data.run_id != run_id:
        detail = f"is {json_data.run_id}, but the URL contains {run_id}"
        raise make_field_problem("run_id", detail)
    receipt = _store_reports([json_data])
    if receipt.conflicting_ids:
        raise ProblemError(
            HTTPStatus.CONFLICT, f"A different report already has the id {run_id}, and a run never changes."
        )
    is_new = run_id in receipt.created_ids
    return RunReceipt(run_id=run_id, created=is_new), HTTPStatus.CREATED if is_new else HTTPStatus.OK


@bp.post("/runs")
@admit_requests
@bp.input(ReportList)
@bp.output(Receipts)
def post(json_data: Reports) -> Receipts:
    """Store many reports at once.

    If the service fails in the meantime, some reports may be stored: send the list again. Reports that are stored
    already stay as they are. A report that has the id of a different report is left out, and its id is returned.
    """
    receipt = _store_reports(json_data)
    n_already_stored = len(json_data) - len(receipt.created_ids) - len(receipt.conflicting_ids)
    return Receipts(
        created=len(receipt.created_ids), already_stored=n_already_stored, conflicting=receipt.conflicting_ids
    )


@bp.get("/runs/<uuid:run_id>")
@bp.output(Report)
def get(run_id: UUID) -> Report:
    """Return a run as it was reported, with perf's own output."""
    return _find_report(run_id)


@bp.get("/runs")
@bp.input(RunQuery, location="query")
@bp.output(RunPage)
def index(query_data: RunQuery) -> RunPage:
    """Return runs without their samples, the newest first."""
    filter_ = runs.RunFilter(**query_data.model_dump(exclude={"limit", "offset"}))
    with get_database().reading() as session:
        return runs.list_page(session, filter_, query_data.limit, query_data.offset)


@bp.get("/runs/<uuid:run_id>/pyperf")
@bp.doc(responses={200: "A pyperf suite file"})
def pyperf(run_id: UUID) -> Response:
    """Return the samples of a run as a pyperf suite file."""
    suite = build_suite(_find_report(run_id))
    if suite is None:
        raise make_not_found(
            f"pyperf suite of run {run_id}: no metric has a value above zero in every sample, as pyperf requires"
        )
    text = StringIO()
    suite.dump(text)
    headers = {"Content-Disposition": f'attachment; filename="{run_id}.json"'}
    return Response(text.getvalue(), headers=headers, mimetype="application/json")


def _store_reports(reports: Reports) -> ingest_reports.IngestResult:
    """Store reports that the caller may send, and judge their series."""
    # The head of a plain report is the part that names the case, the revision and the host.
    heads = [report.head if isinstance(report, fast_parse.PlainReport) else report for report in reports]
    subjects = {head.subject for head in heads}
    require_access_to_report(subjects, {head.host.name for head in heads})
    with find_admission().admit_subjects(subjects):
        receipt = ingest_reports.ingest_reports(get_database(), reports)
        # Judging many runs together is several times as fast, so it is deferred while further requests are under way.
        judging_schedule.judge_or_defer_series(get_database(), busy=find_admission().is_busy)
    return receipt


def _find_report(run_id: UUID) -> Report:
    """Return the report of a run; answer 404 if it is not stored."""
    with get_database().reading() as session:
        report = runs.find_report(session, run_id)
    if report is None:
        raise make_not_found(f"run {run_id}")
    return report
