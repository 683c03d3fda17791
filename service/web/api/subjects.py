"""Subjects and their settings."""

from __future__ import annotations

from apiflask import APIBlueprint

from service.schemas.triage import SubjectChange, SubjectEntry, SubjectList
from service.store import subjects
from service.web import subject_settings
from service.web.access.author import find_author
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import make_not_found

bp = APIBlueprint("subjects", __name__)


@bp.get("/subjects")
@bp.input(PageQuery, location="query")
@bp.output(SubjectList)
def index(query_data: PageQuery) -> SubjectList:
    """Return subjects, by name."""
    with get_database().reading() as session:
        return subjects.list_page(session, query_data.limit, query_data.offset)


@bp.get("/subjects/<subject>")
@bp.output(SubjectEntry)
def get(subject: str) -> SubjectEntry:
    """Return one subject."""
    with get_database().reading() as session:
        subject_entry = subjects.find_subject_entry(session, subject)
    if subject_entry is None:
        raise make_not_found(f"subject {subject}")
    return subject_entry


@bp.patch("/subjects/<subject>")
@bp.input(SubjectChange)
@bp.output(SubjectEntry)
def change(subject: str, json_data: SubjectChange) -> SubjectEntry:
    """Set the response to drifts that several commits could have caused: nothing, an offer to bisect, or a bisect."""
    subject_entry = subject_settings.change_settings(subject, json_data, find_author(json_data.author))
    if subject_entry is None:
        raise make_not_found(f"subject {subject}")
    return subject_entry
