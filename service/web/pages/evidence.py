"""Why it drifted: the profiles of both sides of a change, and what can be ordered about them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from flask import Blueprint, abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError
from sqlalchemy.orm import Session

from runner.contract import Report
from runner.contract.job import Backend, Job, JobOrder, ProfileQuestion, RemedyQuestion, Where
from service.jobs.extension import scheduler
from service.jobs.profiling import question
from service.rules.access.scope import Scope
from service.rules.comparison.pairing import Pair
from service.rules.jobs.profiling import can_be_profiled
from service.schemas.history import Drift
from service.store import drifts, jobs, profiles
from service.store.jobs import Asked, JobFilter
from service.store.profiles import ProfileFilter
from service.text import commands
from service.web.access import guard
from service.web.access.author import author
from service.web.api.jobs import place
from service.web.current import database
from service.web.pages import profile
from service.web.rendering import forms

bp = Blueprint("evidence", __name__)

_JOBS = 100
_PAIRS = 20


def of_drift(drift: Drift, before: Report | None, after: Report | None) -> dict[str, Any]:
    """Return what the page of a drift shows of its profiles; the runs of its sides, where they are stored."""
    sides = [
        ProfileFilter(subject=drift.subject, case=drift.case, revision=revision, host=drift.host)
        for revision in (drift.previous_revision, drift.revision)
    ]
    with database().reading() as session:
        view = profile.pair(session, sides[0], sides[1], (drift.environment_before, drift.environment_after))
        wanted = _question(session, drift)
        ordered = _open(session, wanted)
    return {
        "evidence": view,
        "evidence_job": ordered,
        "evidence_order": {"drift": drift.id} if wanted and view is None and may_order(wanted) else None,
        "evidence_command": _command(drift, before, after),
        "evidence_scripts": profile.scripts() if view else [],
    }


def of_comparison(session: Session, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return what the page of a comparison shows: the first case of which both sides have profiles, and the others."""
    found: list[tuple[Pair, UUID, UUID]] = []
    there = profiles.profiled(session, {run.revision for one in pairs for run in (one.base[0], one.head[0])})
    both = [one for one in pairs if all((run.case, run.revision) in there for run in (one.base[0], one.head[0]))]
    for one in both[:_PAIRS]:
        ids = [
            profiles.newest(
                session,
                ProfileFilter(subject=run.subject, case=run.case, revision=run.revision, host=run.host),
                run.environment,
            )
            for run in (one.base[0], one.head[0])
        ]
        if ids[0] is not None and ids[1] is not None and ids[0] != ids[1]:
            found.append((one, ids[0], ids[1]))
    view = profile.read(session, found[0][1], found[0][2]) if found else None
    return {
        "evidence": view,
        "evidence_others": [(one.head[0].case, base, head) for one, base, head in found[1:]],
        "evidence_scripts": profile.scripts() if view else [],
    }


@bp.post("/profiles/jobs")
def order_profiles() -> ResponseReturnValue:
    """Order profiles of both sides of a drift, from the button of its page."""
    form = forms.given()
    with database().reading() as session:
        drift = drifts.find(session, form.get("drift", ""))
        wanted = _question(session, drift) if drift else None
    if wanted is None:
        abort(404, "There is no such drift, or no commit that could be profiled.")
    return _ordered(JobOrder(question=wanted, author=form["author"] or None))


@bp.post("/profiles/<uuid:profile_id>/remedies")
def order_remedy(profile_id: UUID) -> ResponseReturnValue:
    """Order that a remedy is tried, from the button beside it."""
    form = forms.given()
    with database().reading() as session:
        told = profiles.gist_of(session, profile_id)
    if told is None:
        abort(404, "There is no such profile.")
    settings = {name.removeprefix("set."): value for name, value in request.form.items() if name.startswith("set.")}
    try:
        asked = RemedyQuestion(
            subject=told.subject,
            case=told.case.name,
            host=told.host,
            revision=told.revision.commit,
            settings=settings,
        )
        order = JobOrder(question=asked, author=form["author"] or None)
    except ValidationError as error:
        abort(422, forms.wrong(error))
    return _ordered(order)


def may_order(wanted: ProfileQuestion | RemedyQuestion | None = None) -> bool:
    """Whether this caller may order jobs, and somebody would start them."""
    if not guard.caller().may(Scope.ORDER):
        return False
    asked = JobOrder(question=wanted) if wanted else None
    starters = scheduler().starters.items()
    return any(backend is Backend.LOCAL or (asked and not one.objection(asked)) for backend, one in starters)


def _ordered(order: JobOrder) -> ResponseReturnValue:
    found, _ = place(order, Asked(author(order.author), Where.DASHBOARD))
    return redirect(url_for("jobs.show", job_id=found.id), HTTPStatus.SEE_OTHER)


def _question(session: Session, drift: Drift) -> ProfileQuestion | None:
    """Return what has to be profiled of a drift; None where only another configuration would show it."""
    return question(session, drift) if can_be_profiled(drift) else None


def _open(session: Session, wanted: ProfileQuestion | None) -> Job | None:
    """Return the job that makes the profiles now, if one does."""
    if wanted is None:
        return None
    found = jobs.page(session, JobFilter(kind="profile", open=True, subject=wanted.subject), _JOBS).items
    return next((job for job in found if job.question == wanted), None)


def _command(drift: Drift, before: Report | None, after: Report | None) -> str:
    """Return the command that profiles both sides: two commits side by side, or one commit in both environments."""
    if drift.revision == drift.previous_revision:
        return commands.profile_each(before, after) if before and after and drift.knobs else ""
    known = after or before
    if known is None:
        return ""
    words = ["faultwatch", "profile", known.case.workload, "--repo", f"./{drift.subject}"]
    words += ["--revision", f"{drift.previous_revision[:12]}..{drift.revision[:12]}"]
    return shlex.join([*words, *_settings(known.case.parameters)])


def _settings(parameters: Mapping[str, Any]) -> list[str]:
    return [
        word
        for name, value in sorted(parameters.items())
        for word in ("--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    ]
