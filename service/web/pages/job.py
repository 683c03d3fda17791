"""Jobs: the order and the progress of each, with buttons that pause, resume or cancel it. Works without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import TypeAdapter, ValidationError

from runner.contract.job import Job, JobDecision, JobOrder, State, Where
from service.rules.access.scope import Scope
from service.rules.jobs.job_states import Action, is_possible
from service.store import jobs
from service.store.jobs import JobFilter, Requester
from service.store.runs import runs
from service.web import job_orders
from service.web.access import authorization
from service.web.access.author import find_author
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.problems import ProblemError
from service.web.rendering import forms
from service.web.rendering.page_formats import Page, Table, page, read_offset

bp = make_page_blueprint("jobs")

_MAX_JOBS = 100
_MAX_RUNS = 50
_ACTIONS = (Action.PAUSE, Action.RESUME, Action.CANCEL)
_PROFILE_IDS = TypeAdapter(list[UUID])


@page(bp, "/jobs")
def index() -> Page:
    """List the open jobs, the jobs in one state, or all jobs."""
    names = ["open", *(state.value for state in State), "all"]
    state_name = request.args.get("state", "open")
    if state_name not in names:
        state_name = "all"
    state = State(state_name) if state_name in set(State) else None
    offset = read_offset()
    with get_database().reading() as session:
        job_list = jobs.list_page(
            session, JobFilter(state=state, open=True if state_name == "open" else None), _MAX_JOBS, offset
        )
    return Page(
        "jobs.html",
        {"jobs": job_list, "shown": state_name, "states": names},
        document=lambda: job_list,
        table=lambda: _build_table(job_list.items),
    )


@page(bp, "/jobs/<int:job_id>")
def show(job_id: int) -> Page:
    """Show one job."""
    context = _build_context(job_id)
    job: Job = context["job"]
    return Page(
        "job.html",
        context,
        document=lambda: job,
        table=lambda: Table.from_records(job.steps, "at", "state", "by", "sentence"),
    )


@bp.post("/jobs")
def order() -> ResponseReturnValue:
    """Order a bisect of a drift, by the button on its page."""
    form = forms.read_form()
    try:
        job_order = JobOrder.model_validate({"drift": form.get("drift", ""), "author": form["author"] or None})
    except ValidationError as error:
        abort(422, forms.describe_errors(error))
    job, _ = job_orders.place_order(job_order, Requester(find_author(job_order.author), Where.DASHBOARD))
    return redirect(url_for("jobs.show", job_id=job.id), HTTPStatus.SEE_OTHER)


@bp.post("/jobs/<int:job_id>/<any(pause, resume, cancel):action>")
def change(job_id: int, action: str) -> ResponseReturnValue:
    """Pause, resume or cancel a job, by the buttons on its page."""
    form = forms.read_form()
    try:
        decision = JobDecision.model_validate({"author": form["author"] or None, "reason": form.get("reason", "")})
        job_orders.decide_job(job_id, Action(action), decision)
    except ValidationError as error:
        return _show_problem(job_id, forms.describe_errors(error), HTTPStatus.UNPROCESSABLE_ENTITY)
    except ProblemError as error:
        if error.status is HTTPStatus.NOT_FOUND:
            raise
        return _show_problem(job_id, str(error), error.status)
    return redirect(url_for("jobs.show", job_id=job_id), HTTPStatus.SEE_OTHER)


def _show_problem(job_id: int, problem: str, status: HTTPStatus) -> ResponseReturnValue:
    return render_template("job.html", **(_build_context(job_id) | {"problem": problem})), status


def _build_context(job_id: int) -> dict[str, Any]:
    """Return the context of a job's template."""
    with get_database().reading() as session:
        row = jobs.find_job(session, job_id)
        if row is None:
            abort(404, "There is no such job. It may belong to another Faultwatch service.")
        job = jobs.build_view(row)
        measured_runs = runs.list_runs_by_id(session, job.runs[-_MAX_RUNS:])
    actions = []
    if authorization.find_caller().may(Scope.ORDER):
        actions = [action.value for action in _ACTIONS if is_possible(job.state, action)]
    return {
        "job": job,
        "measured": measured_runs,
        "actions": actions,
        "profiles": _list_profiles(job),
        "author": forms.find_likely_author(),
        "problem": None,
    }


def _list_profiles(job: Job) -> list[UUID]:
    """Return the ids of the profiles that a job recorded; invalid ids in the runner's result are left out."""
    ids = (job.result or {}).get("profiles")
    try:
        return _PROFILE_IDS.validate_python(ids or [])
    except ValidationError:
        return []


def _build_table(job_list: Iterable[Job]) -> Table:
    """Return the list of jobs as a table for CSV."""
    return Table.from_records(
        job_list,
        "id",
        ("kind", lambda job: job.question.kind),
        "state",
        ("subject", lambda job: job.question.subject),
        ("case", lambda job: job.question.case),
        *("host", "asked_by", "created_at", "started_at", "finished_at", "deadline_at", "attempts"),
        ("runs", lambda job: len(job.runs)),
        *("runs_left", "seconds_left", "sentence"),
    )
