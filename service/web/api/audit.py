"""The audit log: who changed what, and when."""

from __future__ import annotations

from apiflask import APIBlueprint

from service.schemas.audit import AuditAction, AuditLog
from service.store import audit
from service.web.api.body import PageQuery
from service.web.app_resources import get_database

bp = APIBlueprint("audit", __name__)


class AuditQuery(PageQuery):
    """The filters of a list of entries."""

    action: AuditAction | None = None


@bp.get("/audit")
@bp.input(AuditQuery, location="query")
@bp.output(AuditLog)
def index(query_data: AuditQuery) -> AuditLog:
    """Return entries of the audit log, the newest first. Only admins may read it."""
    with get_database().reading() as session:
        return audit.list_page(session, query_data.action, query_data.limit, query_data.offset)
