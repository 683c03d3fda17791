"""Subjects and their settings: the response to drifts that several commits could have caused."""

from __future__ import annotations

from http import HTTPStatus

from flask import abort, redirect, url_for
from flask.typing import ResponseReturnValue
from pydantic import ValidationError

from service.rules.access.scope import Scope
from service.schemas.triage import BisectPolicy, SubjectChange, SubjectList
from service.store import subjects
from service.web import subject_settings
from service.web.access import authorization
from service.web.access.author import find_author
from service.web.app_resources import get_config, get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("subjects")


@page(bp, "/subjects")
def index() -> Page:
    """List the subjects with their settings."""
    with get_database().reading() as session:
        entries = subjects.list_subjects(session)
    return Page(
        "subjects.html",
        {
            "subjects": entries,
            "policies": list(BisectPolicy),
            "runs_a_day": get_config().narrowing_runs,
            "author": forms.find_likely_author(),
            "may_change": authorization.find_caller().may(Scope.ORDER),
        },
        document=lambda: SubjectList(items=entries, total=len(entries), limit=len(entries), offset=0),
        table=lambda: Table.from_records(entries, "name", "repository", "bisect_policy"),
    )


@bp.post("/subjects/<name>")
def change(name: str) -> ResponseReturnValue:
    """Change the settings of a subject, by the form of its row."""
    form = forms.read_form()
    try:
        settings = SubjectChange.model_validate(
            {"bisect_policy": form.get("bisect_policy", ""), "author": form["author"] or None}
        )
    except ValidationError as error:
        abort(HTTPStatus.UNPROCESSABLE_ENTITY, forms.describe_errors(error))
    if subject_settings.change_settings(name, settings, find_author(settings.author)) is None:
        abort(404, "There is no such subject.")
    return redirect(url_for("subjects.index"), HTTPStatus.SEE_OTHER)
