"""A bisect: its search as a picture, every measurement, what was found, and the proof. Works without JavaScript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from flask import Blueprint, abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from runner.contract import metric
from runner.contract.job import BisectQuestion, Job, JobOrder, ProfileQuestion, Where
from runner.contract.level import Number, median
from runner.contract.search import Culprit, Found, Prove
from service.pipeline import bisect_course
from service.pipeline.bisect_course import Course
from service.rules.access.scope import Scope
from service.rules.bisect.question import Observation
from service.schemas.history import Drift
from service.store import jobs
from service.store.jobs import Asked, JobFilter
from service.store.profiles import ProfileFilter
from service.text import commands, numbers
from service.web.access import guard
from service.web.access.author import author
from service.web.api.jobs import place
from service.web.charts.bisect_picture import Mark, Named, Picture, Side, picture
from service.web.current import database
from service.web.pages import evidence, profile
from service.web.pages.source import source
from service.web.rendering import forms
from service.web.rendering.formats import Page, Table, page

bp = Blueprint("bisect", __name__)

_LISTED = 100
_ABOUT = 20
"""The newest bisects of a subject, among which those about a drift are looked for."""
_NAME = 70
"""Letters of a culprit's name that have room in the picture."""
_NEXT = {
    "measure": "looks for the commit",
    "prove": "proves what it found",
    "found": "found",
    "refused": "nothing to search for",
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table."""

    number: int | None
    """Its place in the order; None where it was stored before."""
    commit: str
    title: str
    value: Number | None
    side: Side
    why: str
    run: str
    proof: bool


@page(bp, "/bisects")
def listed() -> Page:
    """List bisects, the newest first."""
    offset = min(max(request.args.get("offset", 0, int), 0), 2**31)
    with database().reading() as session:
        found = jobs.page(session, JobFilter(kind="bisect"), _LISTED, offset)
    return Page(
        "bisects.html",
        {"jobs": found, "author": forms.author(), "may_order": guard.caller().may(Scope.ORDER)},
        document=lambda: found,
        table=lambda: _job_table(found.items),
    )


@page(bp, "/bisects/<int:job_id>")
def show(job_id: int) -> Page:
    """Show one bisect."""
    with database().reading() as session:
        row = jobs.find(session, job_id) if job_id < 2**63 else None
        if row is None or row.kind != "bisect":
            abort(404, "There is no such bisect.")
        job = jobs.view(row)
        course = bisect_course.of(session, job)
    asked = job.question
    assert isinstance(asked, BisectQuestion)
    unit = metric(asked.metric).unit
    rows = list(_measurements(job, course)) if course else []
    culprits = _culprits(course)
    wanted = _profiling(job, culprits)
    return Page(
        "bisect.html",
        {
            "job": job,
            "course": course,
            "asked": asked,
            "drift": asked.drift and source().drift(asked.drift),
            "event": asked.drift and source().event_of(asked.drift),
            "metric": metric(asked.metric),
            "rows": rows,
            "stored": sum(one.number is None for one in rows),
            "proven": any(one.proof for one in rows),
            "sides": {one.side.value for one in rows},
            "culprits": culprits,
            **_evidence(course, culprits),
            "profiling": wanted if wanted and evidence.may_order(wanted) else None,
            "picture": _picture(course, rows, culprits) if course else None,
            "stage": _NEXT[course.search.answer.kind] if course else "",
            "command": commands.bisect(asked, course.asked if course else None),
        },
        document=lambda: {"job": job, "search": course and course.search, "measurements": rows},
        table=lambda: _row_table(rows, unit),
    )


@bp.post("/bisects/<int:job_id>/profiles")
def profile_both(job_id: int) -> ResponseReturnValue:
    """Order profiles of the first culprit and its parent."""
    named = forms.given().get("author") or None
    with database().reading() as session:
        row = jobs.find(session, job_id) if job_id < 2**63 else None
        found = jobs.view(row) if row is not None else None
        course = bisect_course.of(session, found) if found is not None else None
    wanted = _profiling(found, _culprits(course)) if found is not None else None
    if wanted is None:
        abort(404, "There is no such bisect, or it has not found anything.")
    ordered, _ = place(JobOrder(question=wanted, author=named), Asked(author(named), Where.DASHBOARD))
    return redirect(url_for("jobs.show", job_id=ordered.id), HTTPStatus.SEE_OTHER)


def _profiling(job: Job, culprits: Sequence[Culprit]) -> ProfileQuestion | None:
    """Return what to ask for profiles of the first culprit and its parent."""
    if not culprits:
        return None
    same = ("subject", "case", "host", "repository", "workload", "variables")
    asked = {name: getattr(job.question, name) for name in same}
    asked["host"] = asked["host"] or job.host
    return ProfileQuestion(revision=culprits[0].commit, against=culprits[0].parent, **asked)


def _evidence(course: Course | None, culprits: Sequence[Culprit]) -> dict[str, Any]:
    """Return the profiles of the first culprit and its parent, or the command that makes them."""
    if course is None or not culprits:
        return {"evidence": None, "evidence_scripts": []}
    one, asked = culprits[0], course.asked
    sides = [
        ProfileFilter(subject=asked.subject, case=asked.case.name, revision=commit, host=asked.host.name)
        for commit in (one.parent, one.commit)
    ]
    environment = asked.environment.hash
    with database().reading() as session:
        view = profile.pair(session, sides[0], sides[1], (environment, environment))
    return {
        "evidence": view,
        "evidence_scripts": profile.scripts() if view else [],
        "evidence_command": commands.profile(asked, one.parent, one.commit),
    }


def bisects_about(drift: Drift) -> list[Job]:
    """Return the bisects that were ordered of a drift, or found its commit, the newest first.

    What a bisect measures moves the drift to its commit, and so makes it another one.
    """
    with database().reading() as session:
        found = jobs.page(session, JobFilter(kind="bisect", subject=drift.subject), _ABOUT).items
    return [one for one in found if _is_about(one, drift)]


def _is_about(job: Job, drift: Drift) -> bool:
    asked = job.question
    if not isinstance(asked, BisectQuestion) or (asked.case, asked.metric) != (drift.case, drift.metric):
        return False
    search = bisect_course.result(job)
    answer = search.answer if search else None
    found = answer.culprits if isinstance(answer, Found) else ()
    return asked.drift == drift.id or drift.revision in {one.commit for one in found}


@bp.post("/bisects")
def order() -> ResponseReturnValue:
    """Order the search of a range of commits."""
    form = forms.given()
    named = form.pop("author", "") or None
    try:
        asked = JobOrder.model_validate({"question": {"kind": "bisect", **form}, "author": named})
    except ValidationError as error:
        abort(HTTPStatus.UNPROCESSABLE_ENTITY, forms.wrong(error))
    job, _ = place(asked, Asked(author(named), Where.DASHBOARD))
    return redirect(url_for("bisect.show", job_id=job.id), HTTPStatus.SEE_OTHER)


def _culprits(course: Course | None) -> Sequence[Culprit]:
    answer = course.search.answer if course else None
    return answer.culprits if isinstance(answer, Found | Prove) else ()


def _measurements(job: Job, course: Course) -> Iterator[Measurement]:
    """Yield what was measured: what was stored before first, then in the order of the search."""
    number = {run_id: place for place, run_id in enumerate(job.runs, 1)}
    ends = [_level(course.observations, end) for end in (course.question.good, course.question.bad)]
    ordered = sorted(course.observations, key=lambda one: number.get(one.run, 0) if one.run else 0)
    for one in ordered:
        yield Measurement(
            number=number.get(one.run) if one.run else None,
            commit=one.commit,
            title=course.titles.get(one.commit, ""),
            value=one.value,
            side=_side(one.value, ends, course.asked.least if course.question.exact else None),
            why=course.failures.get(one.run, "") if one.run else "",
            run=str(one.run),
            proof=one.session is not None,
        )


def _level(seen: Iterable[Observation], commit: str) -> Number | None:
    return median([one.value for one in seen if one.commit == commit and one.value is not None])


def _side(value: Number | None, ends: Sequence[Number | None], least: float | None) -> Side:
    """Return which end a value is like; neither, where it differs from both by what matters of an exact metric."""
    good, bad = ends
    if value is None:
        return Side.FAILED
    if good is None or bad is None:
        return Side.BEFORE if bad is None else Side.AFTER
    to_good, to_bad = abs(value - good), abs(value - bad)
    if least is not None and min(to_good, to_bad) > 0 and min(to_good, to_bad) >= least:
        return Side.BETWEEN
    return Side.BEFORE if to_good <= to_bad else Side.AFTER


def _picture(course: Course, rows: Iterable[Measurement], culprits: Iterable[Culprit]) -> Picture:
    unit = metric(course.asked.metric).unit
    marks = [
        Mark(
            commit=one.commit,
            side=one.side,
            number=str(one.number or ""),
            label=f"{one.number or 'stored before'}: {one.commit[:10]} {one.title}: "
            + (one.why or "could not be measured" if one.value is None else numbers.quantity(one.value, unit)),
            proof=one.proof,
        )
        for one in rows
    ]
    named = [
        Named(one.commit, one.parent, _short(f"{one.commit[:10]} {course.titles.get(one.commit, '')}"))
        for one in culprits
    ]
    return picture(course.question.graph, marks, named)


def _short(text: str) -> str:
    return text if len(text) <= _NAME else f"{text[: _NAME - 1]}…"


def _row_table(rows: Iterable[Measurement], unit: str) -> Table:
    return Table(
        ("number", "commit", "title", f"value ({unit})", "side", "in_turns", "why", "run"),
        ((one.number, one.commit, one.title, one.value, one.side.value, one.proof, one.why, one.run) for one in rows),
    )


def _job_table(found: Iterable[Job]) -> Table:
    columns = ("id", "subject", "case", "metric", "good", "bad", "state", "asked_by", "created_at", "sentence")
    return Table(columns, (_job_row(one) for one in found))


def _job_row(one: Job) -> tuple[Any, ...]:
    asked = one.question
    return (
        *(one.id, asked.subject, asked.case, getattr(asked, "metric", ""), getattr(asked, "good", "")),
        *(getattr(asked, "bad", ""), one.state.value, one.asked_by, one.created_at, one.sentence),
    )
