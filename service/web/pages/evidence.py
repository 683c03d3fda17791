"""The evidence for a change: the profiles of both sides, and the buttons that order missing profiles and trials."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError
from sqlalchemy.orm import Session

from runner.contract import Report
from runner.contract.job import Backend, Job, JobOrder, ProfileQuestion, RemedyQuestion, Where
from service.jobs import drift_profiling
from service.jobs.extension import find_scheduler
from service.rules.access.scope import Scope
from service.rules.comparison.run_pairing import Pair
from service.rules.imported_runs import has_imported
from service.rules.jobs.drifts_to_profile import can_be_profiled
from service.schemas.history import Drift
from service.store import jobs, profiles
from service.store.jobs import JobFilter, Requester
from service.store.profiles import ProfileFilter
from service.store.series import drifts
from service.text import commands_to_copy
from service.web import job_orders
from service.web.access import authorization
from service.web.access.author import find_author
from service.web.app_resources import get_database
from service.web.pages import profile
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms

bp = make_page_blueprint("evidence")

_MAX_JOBS = 100
_MAX_PAIRS = 20


def make_context(view: Any, **further: Any) -> dict[str, Any]:
    """Return the context of ``partials/evidence.html``.

    Parameters
    ----------
    view
        The profiles of both sides; None if a side has none.
    further
        Values that replace the defaults, by name.
    """
    return {
        "evidence": view,
        "evidence_job": None,
        "evidence_order": None,
        "evidence_command": "",
        "evidence_imported": False,
        "evidence_others": (),
        "evidence_scripts": profile.list_scripts() if view else [],
        **further,
    }


def find_drift_profiles(drift: Drift, before: Report | None, after: Report | None) -> dict[str, Any]:
    """Return the context about the profiles of both sides on the page of a drift.

    Parameters
    ----------
    before, after
        The reports of the runs on both sides; None if they are not stored.
    """
    sides = [
        ProfileFilter(subject=drift.subject, case=drift.case, revision=revision, host=drift.host)
        for revision in (drift.previous_revision, drift.revision)
    ]
    with get_database().reading() as session:
        view = profile.find_pair(session, sides[0], sides[1], (drift.environment_before, drift.environment_after))
        is_imported = has_imported(before, after)
        question = None if is_imported else _build_question(session, drift)
        job = _find_open_job(session, question)
    return make_context(
        view,
        evidence_job=job,
        evidence_order={"drift": drift.id} if question and view is None and may_order(question) else None,
        evidence_command="" if is_imported else _build_command(drift, before, after),
        evidence_imported=is_imported,
    )


def find_comparison_profiles(session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the profiles of the first case that is profiled on both sides, and links to those of other cases."""
    # The newest run of each side names the case, the commit and the environment of all its runs.
    newest_runs = [(pair.base[0], pair.head[0]) for pair in pairs]
    profiled_cases = profiles.list_profiled_cases(session, {run.revision for sides in newest_runs for run in sides})
    complete_pairs = [
        sides for sides in newest_runs if all((run.case, run.revision) in profiled_cases for run in sides)
    ]
    profiled_pairs: list[tuple[str, UUID, UUID]] = []
    for sides in complete_pairs[:_MAX_PAIRS]:
        base_id, head_id = [
            profiles.find_newest_profile_id(
                session,
                ProfileFilter(subject=run.subject, case=run.case, revision=run.revision, host=run.host),
                run.environment,
            )
            for run in sides
        ]
        # The ids are equal if both sides are the same commit in the same environment.
        if base_id is not None and head_id is not None and base_id != head_id:
            _, newest_head = sides
            profiled_pairs.append((newest_head.case, base_id, head_id))
    if not profiled_pairs:
        return make_context(None)
    _case, first_base_id, first_head_id = profiled_pairs[0]
    return make_context(profile.read_pair(session, first_base_id, first_head_id), evidence_others=profiled_pairs[1:])


@bp.post("/profiles/jobs")
def order_profiles() -> ResponseReturnValue:
    """Order profiles of both sides of a drift, by the button of its page."""
    form = forms.read_form()
    with get_database().reading() as session:
        drift = drifts.find_drift(session, form.get("drift", ""))
        question = _build_question(session, drift) if drift else None
    if question is None:
        abort(404, "There is no such drift, or the drift has no commit that can be profiled.")
    return _place_order(forms.build_order(question, form["author"]))


@bp.post("/profiles/<uuid:profile_id>/remedies")
def order_remedy(profile_id: UUID) -> ResponseReturnValue:
    """Order a trial of a remedy, by the button beside it."""
    form = forms.read_form()
    with get_database().reading() as session:
        summary = profiles.read_summary(session, profile_id)
    if summary is None:
        abort(404, "There is no such profile.")
    settings = {name.removeprefix("set."): value for name, value in request.form.items() if name.startswith("set.")}
    try:
        question = RemedyQuestion(
            subject=summary.subject,
            case=summary.case.name,
            host=summary.host,
            revision=summary.revision.commit,
            settings=settings,
        )
    except ValidationError as error:
        abort(422, forms.describe_errors(error))
    return _place_order(forms.build_order(question, form["author"]))


def may_order(question: ProfileQuestion | RemedyQuestion | None = None) -> bool:
    """Return whether this caller may order jobs and a backend is available that would start them.

    Parameters
    ----------
    question
        The job's question; None if it is not known yet. Then the local backend has to be available, because it is the
        only one that can start any job.
    """
    if not authorization.find_caller().may(Scope.ORDER):
        return False
    starters = find_scheduler().starters
    if question is None:
        return Backend.LOCAL in starters
    order = JobOrder(question=question)
    return any(not starter.explain_objection(order) for starter in starters.values())


def _place_order(order: JobOrder) -> ResponseReturnValue:
    job, _ = job_orders.place_order(order, Requester(find_author(order.author), Where.DASHBOARD))
    return redirect(url_for("jobs.show", job_id=job.id), HTTPStatus.SEE_OTHER)


def _build_question(session: Session, drift: Drift) -> ProfileQuestion | None:
    """Return the question of a job that profiles both commits of a drift.

    None if its cause is not a commit: profiles of two commits cannot show a change of the configuration.
    """
    return drift_profiling.build_profile_question(session, drift) if can_be_profiled(drift) else None


def _find_open_job(session: Session, question: ProfileQuestion | None) -> Job | None:
    """Return the open job that records the profiles; None if there is none."""
    if question is None:
        return None
    open_jobs = jobs.list_page(session, JobFilter(kind="profile", open=True, subject=question.subject), _MAX_JOBS).items
    return next((job for job in open_jobs if job.question == question), None)


def _build_command(drift: Drift, before: Report | None, after: Report | None) -> str:
    """Return the command that profiles both sides: two commits, or one commit in both environments."""
    if drift.revision == drift.previous_revision:
        return commands_to_copy.build_profile_commands(before, after) if before and after and drift.settings else ""
    report = after or before
    if report is None:
        return ""
    return commands_to_copy.build_profile_command(report.case, drift.previous_revision, drift.revision)
