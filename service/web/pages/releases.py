"""What changed between two releases: each case's net change, and the drifts and commits that it is made of."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from flask import abort, redirect, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from service.rules.release_text import markdown
from service.schemas.releases import ReleaseChange
from service.store import refs, releases
from service.store.refs import NamedCommit
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering.formats import Page, Table, page

bp = page_blueprint("releases")

_REFS = 200
_ROWS = 200


@page(bp, "/releases")
def listed() -> Page:
    """List tags and branches, to choose two of them."""
    with database().reading() as session:
        known = refs.listed(session, request.args.get("subject"), _REFS)
        names = [{"kind": row.kind, "name": row.name, "commit": row.commit} for row in known]
    return Page(
        "releases.html",
        {"refs": names, "wrong": ""},
        document=lambda: names,
        table=lambda: Table(("kind", "name", "commit"), (tuple(row.values()) for row in names)),
    )


@bp.get("/releases/between")
def choose() -> ResponseReturnValue:
    """Redirect a filled-in form to the address of its releases."""
    base, head = (request.args.get(name, "").strip() for name in ("base", "head"))
    if not base or not head:
        abort(HTTPStatus.UNPROCESSABLE_ENTITY, "Name two releases: tags, branches, dates or commits.")
    return redirect(url_for("releases.show", between=f"{quote(base, safe='/~^')}...{quote(head, safe='/~^')}"))


@page(bp, "/releases/<path:between>")
def show(between: str) -> Page:
    """Show what changed between two releases, given as ``A...B``."""
    base, dots, head = between.partition("...")
    if not dots or not base or not head:
        abort(HTTPStatus.NOT_FOUND, "Write two releases as A...B, such as v1.0...v1.1.")
    with database().reading() as session:
        newer = _commit(session, head, request.args.get("subject"))
        older = _commit(session, base, newer.subject)
        found = releases.between(session, (base, older), (head, newer))
    return Page(
        "release.html",
        {"found": found, "shown": found.changes[:_ROWS], "markdown": markdown(found)},
        document=lambda: found,
        table=lambda: _table(found.changes),
    )


def _commit(session: Session, text: str, subject: str | None) -> NamedCommit:
    named = refs.find(session, text, subject)
    if not named:
        abort(
            HTTPStatus.NOT_FOUND,
            f"There is no commit {text!r}. Write a tag, a branch, a date such as 2026-11-20, or four or more digits of "
            "a hash; ~20 after it goes back twenty commits. Tags and branches come with `faultwatch history`.",
        )
    if len({entry.commit for entry in named}) > 1:
        choices = ", ".join(f"{entry.commit[:12]} of {entry.subject}" for entry in named)
        abort(HTTPStatus.NOT_FOUND, f"{text!r} can mean more than one commit: {choices}. Add ?subject=NAME.")
    return named[0]


def _table(changes: list[ReleaseChange]) -> Table:
    columns = (
        "case",
        "host",
        "metric",
        "unit",
        "before",
        "after",
        "change",
        "percent",
        "part",
        "certainty",
        "part_change",
    )
    rows = (
        (
            *(row.case, row.host, row.metric, row.unit, row.before, row.after, row.change, row.percent),
            *(part.name, part.certainty.value, part.change),
        )
        for row in changes
        for part in (*row.commits, *row.configuration)
    )
    return Table(columns, rows)
