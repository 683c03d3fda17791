"""The commits of a subject."""

from __future__ import annotations

from apiflask import APIBlueprint
from pydantic import TypeAdapter, ValidationError

from runner.contract import RevisionList
from runner.contract.base import Name
from service.pipeline import judging_schedule
from service.schemas.history import RevisionPage, Stored
from service.store import shared_rows
from service.store.revisions import refs, revisions
from service.web.access.token_limits_and_ownership import require_access_to_report
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import make_field_problem, make_not_found

bp = APIBlueprint("revisions", __name__)

_NAME: TypeAdapter[str] = TypeAdapter(Name)


@bp.put("/subjects/<subject>/revisions")
@bp.input(RevisionList)
@bp.output(Stored)
def put(subject: str, json_data: RevisionList) -> Stored:
    """Store a part of a subject's history, with its tags and branches.

    Commits that are known already stay as they are, so the same list may be sent again.
    """
    _check_name(subject)
    require_access_to_report([subject])
    with get_database().writing() as session:
        subject_id = shared_rows.ensure_subjects(session, [subject])[subject]
        revisions.add_commits(session, subject_id, json_data.revisions)
        revisions.store_patches(session, subject_id, json_data.patches)
        refs.store_refs(session, subject_id, json_data.refs)
        count = revisions.count_commits(session, subject_id)
    judging_schedule.judge_or_defer_series(get_database())
    return Stored(subject=subject, revisions=count)


@bp.get("/subjects/<subject>/revisions")
@bp.input(PageQuery, location="query")
@bp.output(RevisionPage)
def index(subject: str, query_data: PageQuery) -> RevisionPage:
    """Return the known commits of a subject, the newest first."""
    with get_database().reading() as session:
        page = revisions.list_page(session, subject, query_data.limit, query_data.offset)
    if page is None:
        raise make_not_found(f"subject {subject}")
    return page


def _check_name(subject: str) -> None:
    """Refuse a name that a subject cannot have."""
    try:
        _NAME.validate_python(subject)
    except ValidationError as error:
        detail = error.errors()[0]["msg"]
        raise make_field_problem("subject", detail) from error
