"""Unmeasured commits: their nearest measured neighbours, and the button that orders a measurement. No JavaScript."""

from __future__ import annotations

from http import HTTPStatus

from flask import abort, redirect, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from runner.contract.job import Where
from service.pipeline import unmeasured_commit
from service.pipeline.resolve_commit_name import resolve_commit_name
from service.pipeline.unmeasured_commit import UnmeasuredCommit
from service.store.jobs import Requester
from service.store.revisions.named_commits import NamedCommit
from service.store.runs.compared_runs import Side
from service.web import job_orders
from service.web.access.author import find_author
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms

bp = make_page_blueprint("unmeasured")


def find_unmeasured_side(session: Session, side: Side, host: str, workload: str) -> UnmeasuredCommit | None:
    """Return the unmeasured commit of a comparison's side with its neighbours; None if measured, or not a commit."""
    if side.kind != "revision" or side.subject is None or side.committed_at is None:
        return None
    return unmeasured_commit.find_unmeasured_commit(
        session, NamedCommit(side.key, side.title, side.subject, side.committed_at), host, workload
    )


@bp.post("/subjects/<subject>/revisions/<commit>/measure")
def order(subject: str, commit: str) -> ResponseReturnValue:
    """Order a measurement of a case at a commit, by the button of a page that needs it."""
    form = forms.read_form()
    with get_database().reading() as session:
        entry, problem = resolve_commit_name(session, commit, subject)
        question = unmeasured_commit.find_measure_question(session, entry, form.get("case", "")) if entry else None
    if entry is None:
        abort(HTTPStatus.NOT_FOUND, problem)
    if question is None:
        case_name = form.get("case", "")
        problem = f"No host has measured the case {case_name!r} of {subject}: choose a case that a host has measured."
        abort(HTTPStatus.UNPROCESSABLE_ENTITY, problem)
    job_order = forms.build_order(question, form["author"])
    job, _ = job_orders.place_order(job_order, Requester(find_author(job_order.author), Where.DASHBOARD))
    return redirect(url_for("jobs.show", job_id=job.id), HTTPStatus.SEE_OTHER)
