"""The page of what changed between two releases: each case's net change, with the drifts and commits behind it."""

from __future__ import annotations

from http import HTTPStatus

from flask import abort, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from runner.contract.number_text import format_difference, format_percent
from service.pipeline.resolve_commit_name import NAMING_ADVICE, resolve_commit_name
from service.releases import queries
from service.releases.rules.decomposition import choose_leading_part
from service.releases.rules.release_text import format_markdown_table
from service.releases.schemas import ReleaseChange, Releases
from service.schemas.history import Direction
from service.store.revisions import refs
from service.store.revisions.named_commits import NamedCommit
from service.store.revisions.refs import NamedRef
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.change_counts import N_LARGEST, ChangeCounts, LargeChange
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("releases")

_MAX_REFS = 200
_MAX_ROWS = 200


@page(bp, "/releases")
def index() -> Page:
    """Show the tags and branches, of which the reader chooses two."""
    with get_database().reading() as session:
        names = [row._asdict() for row in refs.list_refs_by_subject(session, request.args.get("subject"), _MAX_REFS)]
    return Page(
        "releases/releases.html",
        {"refs": names, "form": {}, "wrong": {}, "previous": _map_previous_tags(names)},
        document=lambda: names,
        table=lambda: Table(NamedRef._fields, (tuple(row.values()) for row in names)),
    )


def _map_previous_tags(names: list[dict[str, str]]) -> dict[tuple[str, str, str], str]:
    """Return the tag before each tag, and the newest tag for each branch, by subject, kind and name.

    The first tag of a subject has none. Names with two dots, which git does not allow, would be split at them in the
    address of a comparison, so they are left out.
    """
    names = [entry for entry in names if ".." not in entry["name"]]
    previous_tag_of_subject: dict[str, str] = {}
    previous = {}
    for entry in reversed(names):  # the oldest first
        if entry["kind"] == "tag":
            subject, tag = entry["subject"], entry["name"]
            if subject in previous_tag_of_subject:
                previous[subject, "tag", tag] = previous_tag_of_subject[subject]
            previous_tag_of_subject[subject] = tag
    branches = [(entry["subject"], entry["name"]) for entry in names if entry["kind"] == "branch"]
    return previous | {
        (subject, "branch", branch): previous_tag_of_subject[subject]
        for subject, branch in branches
        if subject in previous_tag_of_subject
    }


@bp.get("/releases/between")
def choose() -> ResponseReturnValue:
    """Redirect a completed form to the page of its releases; if a field is wrong, say so next to the field."""
    form = {name: request.args.get(name, "").strip() for name in ("base", "head", "subject")}
    with get_database().reading() as session:
        # If the form has no subject, base is looked for in the subject of head.
        head, head_problem = _resolve_requested_release(session, form["head"], form["subject"])
        base, base_problem = _resolve_requested_release(
            session, form["base"], form["subject"] or (head.subject if head else "")
        )
        names = [row._asdict() for row in refs.list_refs_by_subject(session, form["subject"] or None, _MAX_REFS)]
    if base is None or head is None:
        problems = {"base": base_problem, "head": head_problem}
        context = {"refs": names, "form": form, "wrong": problems, "previous": _map_previous_tags(names)}
        return render_template("releases/releases.html", **context), HTTPStatus.UNPROCESSABLE_ENTITY
    between = f"{form['base']}...{form['head']}"
    return redirect(url_for("releases.show", between=between, subject=form["subject"] or None))


def _resolve_requested_release(session: Session, text: str, subject: str) -> tuple[NamedCommit | None, str]:
    """Return the commit that a field of the form names; otherwise None, and what is wrong with the field."""
    return resolve_commit_name(session, text, subject or None) if text else (None, f"Name a release. {NAMING_ADVICE}")


@page(bp, "/releases/<path:between>")
def show(between: str) -> Page:
    """Show what changed between two releases, given as ``A...B``."""
    base, dots, head = between.partition("...")
    if not dots or not base or not head:
        abort(HTTPStatus.NOT_FOUND, "Write two releases as A...B, such as v1.0...v1.1.")
    with get_database().reading() as session:
        newer = _find_commit(session, head, request.args.get("subject"))
        older_commit = _find_commit(session, base, newer.subject)
        comparison = queries.compare_releases(session, (base, older_commit), (head, newer))
    return Page(
        "releases/release.html",
        {
            "found": comparison,
            "counts": _count_changes(comparison),
            "shown": comparison.changes[:_MAX_ROWS],
            "choose_leading": choose_leading_part,
            "markdown": format_markdown_table(comparison),
        },
        document=lambda: comparison,
        table=lambda: _build_table(comparison.changes),
    )


def _count_changes(releases: Releases) -> ChangeCounts:
    """Return how many series changed, and the largest changes."""
    has_several_hosts = len({row.host for row in releases.net_changes}) > 1
    largest_changes = [
        LargeChange(
            row.direction is Direction.REGRESSION,
            _describe_change(row),
            row.case,
            row.series_id,
            row.host if has_several_hosts else "",
        )
        for row in releases.net_changes[:N_LARGEST]
    ]
    n_worse = sum(row.direction is Direction.REGRESSION for row in releases.net_changes)
    return ChangeCounts(
        worse=n_worse,
        better=len(releases.net_changes) - n_worse,
        same=releases.n_same,
        undecided=releases.n_undecided,
        noun="series",
        largest=largest_changes,
    )


def _describe_change(row: ReleaseChange) -> str:
    percent = "" if row.percent is None else f" ({format_percent(row.percent)})"
    return f"{format_difference(row.change, row.unit)}{percent}"


def _find_commit(session: Session, text: str, subject: str | None) -> NamedCommit:
    """Return the commit that a text names; answer 404 if there is none."""
    entry, reason = resolve_commit_name(session, text, subject)
    if entry is None:
        abort(HTTPStatus.NOT_FOUND, reason)
    return entry


def _build_table(changes: list[ReleaseChange]) -> Table:
    """Return the changes as a table for CSV: a row for each part of each change."""
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
