"""A bisect: its search as a picture, every measurement, the culprits and their proof. Works without JavaScript."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any
from uuid import UUID

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from runner.contract import get_metric, number_text
from runner.contract.commit_search import Culprit, Found, ProofState, Prove
from runner.contract.job import BisectQuestion, Job, JobList, JobOrder, ProfileQuestion, Where
from runner.contract.level import Number, compute_median
from service.pipeline import bisect_progress, preview_bisect
from service.pipeline.bisect_progress import BisectProgress
from service.pipeline.check_bisect_form import CheckedBisect, check_form, list_known_names
from service.rules.access.scope import Scope
from service.rules.bisect.question import Observation
from service.schemas.history import Drift
from service.store import jobs
from service.store.bisects import bisect_results
from service.store.events import events
from service.store.jobs import JobFilter, Requester
from service.store.profiles import ProfileFilter
from service.store.series import drifts
from service.text import commands_to_copy
from service.web import job_orders
from service.web.access import authorization
from service.web.access.author import find_author
from service.web.app_resources import get_database
from service.web.charts.bisect_picture import MeasuredSide, MeasurementMark, NamedCulprit, SearchPicture, draw_search
from service.web.pages import evidence, profile
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.page_formats import Page, Table, page, read_offset

bp = make_page_blueprint("bisect")

_MAX_LISTED_BISECTS = 100
_MAX_NAMES = 200
"""Largest number of names with which a field of the form is completed."""
_FIELDS = ("subject", "case", "metric", "good", "bad", "min_difference", "host", "author")
_MAX_NEWEST_BISECTS = 20
"""How many of a subject's newest bisects are searched for those about a drift."""
_MAX_NAME_CHARACTERS = 70
"""Characters of a culprit's name that fit into the picture."""
_NEXT_WORDS = {
    "measure": "searches for the commit",
    "prove": "verifies the commit that it found",
    "found": "has found the commit",
    "refused": "ended without a commit",
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table."""

    number: int | None
    """The number of the run in the order of the search; None if the run was stored before."""
    commit: str
    title: str
    value: Number | None
    side: MeasuredSide
    failure: str
    run: str
    proof: bool
    """Whether the run belongs to the proof, which measures the culprit and its parent interleaved."""


@page(bp, "/bisects")
def index() -> Page:
    """List bisects, the newest first; if the address names a range, preview the cost of its search."""
    arguments = {name: request.args.get(name, "").strip() for name in _FIELDS}
    form = {name: value for name, value in arguments.items() if value}
    if authorization.find_caller().may(Scope.ORDER) and {"good", "bad"} <= form.keys():
        context = _preview_form(form)
    else:
        context = _build_list_context(form)
    bisects: JobList = context["jobs"]
    return Page("bisects.html", context, document=lambda: bisects, table=lambda: _build_bisect_table(bisects.items))


def _preview_form(form: dict[str, str]) -> dict[str, Any]:
    """Return the context of the list with a filled-in form: a preview of the bisect, or the errors of the form."""
    question, objections = _check_form(form)
    if question is None:
        return _build_list_context(form, objections)
    with get_database().reading() as session:
        preview = preview_bisect.preview_bisect(session, question)
    return _build_list_context(form) | {"preview": preview, "previewed": _make_preview_key(question.values)}


def _build_list_context(
    form: Mapping[str, str], objections: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the context of the list and its form.

    Parameters
    ----------
    form
        The filled-in values, by field.
    objections
        The errors of the form, by field.
    """
    offset = read_offset()
    with get_database().reading() as session:
        may_order = authorization.find_caller().may(Scope.ORDER)
        return {
            "jobs": jobs.list_page(session, JobFilter(kind="bisect"), _MAX_LISTED_BISECTS, offset),
            "author": forms.find_likely_author(),
            "may_order": may_order,
            "form": form,
            "objections": objections,
            "preview": None,
            "known": list_known_names(session, form.get("subject", ""), _MAX_NAMES) if may_order else None,
        }


@page(bp, "/bisects/<int:job_id>")
def show(job_id: int) -> Page:
    """Show one bisect."""
    # The job, and the progress of its search.
    with get_database().reading() as session:
        row = jobs.find_job(session, job_id)
        if row is None or row.kind != "bisect":
            abort(404, "There is no such bisect.")
        job = jobs.build_view(row)
        progress = bisect_progress.read_progress(session, job)
        measured_run_ids = jobs.list_measured_runs(row)
        question = job.question
        assert isinstance(question, BisectQuestion)
        drift = drifts.find_drift(session, question.drift) if question.drift else None
        event = events.find_event_of_drift(session, question.drift) if question.drift else None
    # The measurements and culprits.
    unit = get_metric(question.metric).unit
    rows = list(_list_measurements(measured_run_ids, progress)) if progress else []
    culprits = _list_culprits(progress)
    profiles = _build_profile_question(job, culprits)
    return Page(
        "bisect.html",
        {
            "job": job,
            "progress": progress,
            "question": question,
            "drift": drift,
            "event": event,
            "metric": get_metric(question.metric),
            "rows": rows,
            "stored": sum(row.number is None for row in rows),
            "proven": any(row.proof for row in rows),
            "sides": {row.side.value for row in rows},
            "culprits": culprits,
            **_find_evidence(progress, culprits),
            "can_profile": profiles is not None and evidence.may_order(profiles),
            "picture": _draw_picture(progress, rows, culprits) if progress else None,
            "stage": _NEXT_WORDS[progress.search.answer.kind] if progress else "",
            "command": commands_to_copy.build_bisect_command(question, progress.request if progress else None),
        },
        document=lambda: {"job": job, "search": progress and progress.search, "measurements": rows},
        table=lambda: _build_measurement_table(rows, unit),
    )


@bp.post("/bisects/<int:job_id>/profiles")
def order_profiles(job_id: int) -> ResponseReturnValue:
    """Order profiles of the first culprit and its parent."""
    form = forms.read_form()
    question = None
    with get_database().reading() as session:
        row = jobs.find_job(session, job_id)
        if row is not None:
            bisect = jobs.build_view(row)
            progress = bisect_progress.read_progress(session, bisect)
            question = _build_profile_question(bisect, _list_culprits(progress))
    if question is None:
        abort(404, "There is no such bisect, or it has not found a culprit yet.")
    order = forms.build_order(question, form["author"])
    job, _ = job_orders.place_order(order, Requester(find_author(order.author), Where.DASHBOARD))
    return redirect(url_for("jobs.show", job_id=job.id), HTTPStatus.SEE_OTHER)


def _build_profile_question(job: Job, culprits: Sequence[Culprit]) -> ProfileQuestion | None:
    """Return the question that orders profiles of the first culprit and its parent; None without a culprit."""
    if not culprits:
        return None
    same_fields = ("subject", "case", "host", "repository", "workload", "variables")
    values = {name: getattr(job.question, name) for name in same_fields}
    values["host"] = values["host"] or job.host
    return ProfileQuestion(revision=culprits[0].commit, against=culprits[0].parent, **values)


def _find_evidence(progress: BisectProgress | None, culprits: Sequence[Culprit]) -> dict[str, Any]:
    """Return the profiles of the first culprit and its parent, or the command that records them."""
    if progress is None or not culprits:
        return evidence.make_context(None)
    culprit, measure_request = culprits[0], progress.request
    sides = [
        ProfileFilter(
            subject=measure_request.subject,
            case=measure_request.case.name,
            revision=commit,
            host=measure_request.host.name,
        )
        for commit in (culprit.parent, culprit.commit)
    ]
    environment = measure_request.environment.hash
    with get_database().reading() as session:
        view = profile.find_pair(session, sides[0], sides[1], (environment, environment))
    command = commands_to_copy.build_profile_command(measure_request.case, culprit.parent, culprit.commit)
    return evidence.make_context(view, evidence_command=command)


def list_bisects_about(drift: Drift) -> list[Job]:
    """Return those of a subject's newest bisects that were ordered for a drift or found its commit, the newest first.

    A bisect is also found by its commit, because the runs that it measures can move the drift to that commit, which
    changes the drift's id.
    """
    with get_database().reading() as session:
        bisects = jobs.list_page(session, JobFilter(kind="bisect", subject=drift.subject), _MAX_NEWEST_BISECTS).items
    return [job for job in bisects if _is_bisect_of_drift(job, drift)]


def _is_bisect_of_drift(job: Job, drift: Drift) -> bool:
    """Return whether a bisect was ordered for a drift, or has found its commit."""
    question = job.question
    if not isinstance(question, BisectQuestion) or (question.case, question.metric) != (drift.case, drift.metric):
        return False
    culprit_commits = {culprit.commit for culprit in _list_culprits_of_job(job)}
    return question.drift == drift.id or drift.revision in culprit_commits


def _list_culprits_of_job(job: Job) -> Sequence[Culprit]:
    """Return the culprits that a bisect has found; empty if it has not ended or has found none."""
    search = bisect_results.read_result(job)
    answer = search.answer if search else None
    return answer.culprits if isinstance(answer, Found) else ()


def find_proof(bisects: Iterable[Job], drift: Drift) -> Job | None:
    """Return the bisect that has proven a candidate of a drift; None if there is none."""
    candidates = {candidate.commit for candidate in drift.candidates}
    for job in bisects:
        if any(_is_proven(culprit) and culprit.commit in candidates for culprit in _list_culprits_of_job(job)):
            return job
    return None


@bp.post("/bisects")
def order() -> ResponseReturnValue:
    """Order the bisect that the form of the list describes."""
    form = forms.read_form()
    previewed = form.pop("previewed", "")
    checked_form, objections = _check_form(form)
    if checked_form is None:
        return _show_objections(form, objections)
    values = checked_form.values
    if previewed and previewed != _make_preview_key(values):  # The form has changed since, or a branch has moved.
        return render_template("bisects.html", **_preview_form(form)), HTTPStatus.CONFLICT
    author = form.get("author") or None
    question = {field: value for field, value in values.items() if field != "author"}
    job_order = JobOrder.model_validate({"question": {"kind": "bisect", **question}, "author": author})
    job, _ = job_orders.place_order(job_order, Requester(find_author(author), Where.DASHBOARD))
    return redirect(url_for("bisect.show", job_id=job.id), HTTPStatus.SEE_OTHER)


def _check_form(form: Mapping[str, str]) -> tuple[CheckedBisect | None, Mapping[str, str]]:
    """Return the checked form if it can be ordered; otherwise None and the errors, by field."""
    question = {name: value for name, value in form.items() if name != "author"}
    try:
        JobOrder.model_validate({"question": {"kind": "bisect", **question}, "author": form.get("author") or None})
    except ValidationError as error:
        return None, forms.describe_errors_by_field(error)
    with get_database().reading() as session:
        checked_bisect = check_form(session, {"metric": BisectQuestion.model_fields["metric"].default, **form})
    return (None, checked_bisect.objections) if checked_bisect.objections else (checked_bisect, {})


def _make_preview_key(values: Mapping[str, str]) -> str:
    """Return a text that identifies a previewed bisect.

    The preview's button sends it with the form, so that only a bisect that was previewed is ordered.
    """
    return " ".join(
        values.get(name) or "any" for name in ("subject", "case", "metric", "host", "good", "bad", "min_difference")
    )


def _show_objections(form: Mapping[str, str], objections: Mapping[str, str]) -> ResponseReturnValue:
    """Show the form once more, with the filled-in values and their errors."""
    return render_template("bisects.html", **_build_list_context(form, objections)), HTTPStatus.UNPROCESSABLE_ENTITY


def _list_culprits(progress: BisectProgress | None) -> Sequence[Culprit]:
    answer = progress.search.answer if progress else None
    return answer.culprits if isinstance(answer, Found | Prove) else ()


def _list_measurements(measured_run_ids: Collection[UUID], progress: BisectProgress) -> Iterator[Measurement]:
    """Yield the measurements: first the runs that were already stored, then those of the search, in their order.

    Parameters
    ----------
    measured_run_ids
        The runs that were measured for the search.
    """
    sorted_run_ids = [observation.run for observation in progress.observations if observation.run in measured_run_ids]
    number_of_run = {run_id: rank for rank, run_id in enumerate(sorted_run_ids, 1)}
    good_level = _compute_level(progress.observations, progress.question.good)
    bad_level = _compute_level(progress.observations, progress.question.bad)
    min_difference = progress.request.min_difference if progress.question.exact else None

    def get_rank(observation: Observation) -> int:
        # Numbers begin with 1, so that 0 puts the runs that were already stored first.
        return number_of_run.get(observation.run, 0) if observation.run else 0

    for observation in sorted(progress.observations, key=get_rank):
        yield Measurement(
            number=number_of_run.get(observation.run) if observation.run else None,
            commit=observation.commit,
            title=progress.titles.get(observation.commit, ""),
            value=observation.value,
            side=_choose_side(observation.value, good_level, bad_level, min_difference),
            failure=progress.failures.get(observation.run, "") if observation.run else "",
            run=str(observation.run),
            proof=observation.session is not None,  # only the runs of a proof are measured in a common session
        )


def _compute_level(observations: Iterable[Observation], commit: str) -> Number | None:
    """Return the median of all runs of a commit; None if it has no level."""
    return compute_median(
        [
            observation.value
            for observation in observations
            if observation.commit == commit and observation.value is not None
        ]
    )


def _choose_side(
    value: Number | None, good_level: Number | None, bad_level: Number | None, min_difference: float | None
) -> MeasuredSide:
    """Return BEFORE if a value is nearer to the level of the good commit, AFTER if nearer to that of the bad commit.

    If only one of them has a level, the value is on its side.

    Parameters
    ----------
    min_difference
        The smallest relevant difference of an exact metric: a value that differs from both levels by at least this
        much is on neither side. None for a noisy metric.
    """
    if value is None:
        return MeasuredSide.FAILED
    if bad_level is None:
        return MeasuredSide.BEFORE
    if good_level is None:
        return MeasuredSide.AFTER
    distance_to_good, distance_to_bad = abs(value - good_level), abs(value - bad_level)
    # At the default `min_difference` of 0, any difference is relevant.
    if min_difference is not None and 0 < min(distance_to_good, distance_to_bad) >= min_difference:
        return MeasuredSide.BETWEEN
    return MeasuredSide.BEFORE if distance_to_good <= distance_to_bad else MeasuredSide.AFTER


def _draw_picture(progress: BisectProgress, rows: Iterable[Measurement], culprits: Iterable[Culprit]) -> SearchPicture:
    """Return the picture of a search: its measurements and its culprits along the history."""
    unit = get_metric(progress.request.metric).unit
    marks = [
        MeasurementMark(
            commit=row.commit,
            side=row.side,
            number=str(row.number or ""),
            label=_describe_measurement(row, unit),
            proof=row.proof,
        )
        for row in rows
    ]
    labels = [
        NamedCulprit(
            culprit.commit,
            culprit.parent,
            _shorten_name(
                f"{_prefix_unproven(culprit)}{culprit.commit[:10]} {progress.titles.get(culprit.commit, '')}"
            ),
        )
        for culprit in culprits
    ]
    return draw_search(progress.question.graph, marks, labels)


def _describe_measurement(row: Measurement, unit: str) -> str:
    """Return the text of a measurement on hover: its number, its commit and its value."""
    value_text = row.failure or "could not be measured"
    if row.value is not None:
        value_text = number_text.format_quantity(row.value, unit)
    return f"{row.number or 'stored before'}: {row.commit[:10]} {row.title}: {value_text}"


def _prefix_unproven(culprit: Culprit) -> str:
    return "" if _is_proven(culprit) else "not proven: "


def _is_proven(culprit: Culprit) -> bool:
    return culprit.proof is not None and culprit.proof.state is ProofState.STANDS


def _shorten_name(text: str) -> str:
    return text if len(text) <= _MAX_NAME_CHARACTERS else f"{text[: _MAX_NAME_CHARACTERS - 1]}…"


def _build_measurement_table(rows: Iterable[Measurement], unit: str) -> Table:
    """Return the measurements of a search as a table for CSV."""
    return Table.from_records(
        rows,
        *("number", "commit", "title"),
        (f"value ({unit})", lambda row: row.value),
        "side",
        ("interleaved", lambda row: row.proof),
        *("failure", "run"),
    )


def _build_bisect_table(bisects: Iterable[Job]) -> Table:
    """Return the list of bisects as a table for CSV."""
    return Table.from_records(
        bisects,
        "id",
        ("subject", lambda job: job.question.subject),
        ("case", lambda job: job.question.case),
        *((name, lambda job, name=name: getattr(job.question, name, "")) for name in ("metric", "good", "bad")),
        *("state", "asked_by", "created_at", "sentence"),
    )
