"""The audit log: who changed what, and when. Only admins see it."""

from __future__ import annotations

from flask import abort, request

from service.schemas.audit import AuditAction
from service.store import audit
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import MAX_OFFSET, Page, Table, page

bp = make_page_blueprint("audit")

ENTRIES_PER_PAGE = 100
"""Entries on one page."""
_COLUMNS = ("id", "at", "author", "token_id", "address", "action", "target", "detail")


@page(bp, "/audit")
def index() -> Page:
    """List entries, the newest first."""
    text, offset = request.args.get("action", ""), request.args.get("offset", 0, int)
    if (text and text not in set(AuditAction)) or not 0 <= offset < MAX_OFFSET:
        abort(404, "No entries match.")
    with get_database().reading() as session:
        log = audit.list_page(session, AuditAction(text) if text else None, ENTRIES_PER_PAGE, offset)
    return Page(
        "audit.html",
        {"log": log, "actions": list(AuditAction), "chosen": text},
        document=lambda: log,
        table=lambda: Table.from_records(log.items, *_COLUMNS),
    )
