"""The list of profiles, the page of one profile with flame graphs and tables, and the comparison of two profiles."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

from flask import abort, request
from sqlalchemy.orm import Session

from service.schemas.profile_summaries import ProfileList, ProfileWithoutStacks
from service.store import profiles
from service.store.profiles import ProfileFilter
from service.web import vendor
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import Page, Table, page, read_offset
from service.web.rendering.profile_view import ProfileView, build_compared_view, build_single_view

bp = make_page_blueprint("profile")

_MAX_LISTED_PROFILES = 100
_MAX_COMPARABLE = 10
"""Largest number of further profiles of the same case to which the page of a profile links."""


@page(bp, "/profiles")
def index() -> Page:
    """List profiles, the newest first: all, or only those of a commit, case or host."""
    query = {name: request.args.get(name, "").strip() for name in ("subject", "case", "revision", "host")}
    offset = read_offset()
    with get_database().reading() as session:
        profile_filter = ProfileFilter(**{name: value or None for name, value in query.items()})
        profile_list = profiles.list_page(session, profile_filter, _MAX_LISTED_PROFILES, offset)
    return Page(
        "profiles.html",
        {"profiles": profile_list, "query": query},
        document=lambda: profile_list,
        table=lambda: _build_table(profile_list),
    )


@page(bp, "/profiles/<uuid:profile_id>")
def show(profile_id: UUID) -> Page:
    """Show a profile, or what changed since another one (`?before=ID`)."""
    before = request.args.get("before", "")
    with get_database().reading() as session:
        view = _read_compared_view(session, before, profile_id) if before else _build_single_view(session, profile_id)
        profiles_of_case = _list_profiles_of_case(session, view.after)
    return Page(
        "profile.html",
        {"view": view, "others": profiles_of_case, "scripts": list_scripts()},
        document=lambda: {"profile": view.after, "before": view.before, "diagnosis": view.diagnosis},
        table=lambda: _build_site_table(view),
    )


def list_scripts() -> list[str]:
    """Return the addresses of the scripts of flame graphs."""
    return [vendor.find_address(package) for package in vendor.FLAME_SCRIPTS]


def find_pair(
    session: Session, before: ProfileFilter, after: ProfileFilter, environments: tuple[str, str]
) -> ProfileView | None:
    """Return a view of the newest profiles of two sides; None if a side has no profile, or both have the same."""
    environment_before, environment_after = environments
    before_id = profiles.find_newest_profile_id(session, before, environment_before)
    after_id = profiles.find_newest_profile_id(session, after, environment_after)
    if before_id is None or after_id is None or before_id == after_id:
        return None
    return read_pair(session, before_id, after_id)


def _build_single_view(session: Session, profile_id: UUID) -> ProfileView:
    """Return the view of a single profile; answer 404 if it is not stored."""
    summary = profiles.read_summary(session, profile_id)
    if summary is None:
        abort(
            404,
            "There is no such profile. It may belong to another Faultwatch service, or still be in a runner's spool.",
        )
    return build_single_view(summary)


def _read_compared_view(session: Session, before_text: str, after_id: UUID) -> ProfileView:
    """Return the view of two profiles; answer 404 if an id is not valid, or a profile is not stored."""
    try:
        return read_pair(session, UUID(before_text), after_id)
    except ValueError:
        abort(404, "The parameter “before” must be the id of a profile, which is a UUID.")


def read_pair(session: Session, before_id: UUID, after_id: UUID) -> ProfileView:
    """Return the view of two profiles; answer 404 if one of them is not stored."""
    before_document = profiles.find_compressed_profile(session, before_id)
    after_document = profiles.find_compressed_profile(session, after_id)
    if before_document is None or after_document is None:
        abort(404, "At least one of the two profiles is not stored.")
    return _build_cached_view(before_document, after_document)


@lru_cache(maxsize=16)
def _build_cached_view(before_document: bytes, after_document: bytes) -> ProfileView:
    return build_compared_view(
        profiles.parse_compressed_profile(before_document), profiles.parse_compressed_profile(after_document)
    )


def _list_profiles_of_case(session: Session, summary: ProfileWithoutStacks) -> ProfileList:
    """Return the newest profiles of a profile's case on its host, with which it can be compared. May contain itself."""
    case_filter = ProfileFilter(subject=summary.subject, case=summary.case.name, host=summary.host)
    return profiles.list_page(session, case_filter, _MAX_COMPARABLE, 0)


def _build_table(profile_list: ProfileList) -> Table:
    """Return the list of profiles as a table for CSV."""
    return Table.from_records(
        profile_list.items,
        *("profile_id", "subject", "host", "case", "revision", "environment", "started_at", "faults"),
        ("diagnosis", lambda entry: " ".join(entry.diagnosis)),
    )


def _build_site_table(view: ProfileView) -> Table:
    """Return the places with the most faults, or for two profiles with the largest changes, as a table for CSV."""
    if view.before is not None:
        rows = (
            (*place.function_key, place.line_before, place.line_after, *change, change.growth)
            for place, change in view.places
        )
        return Table(("function", "module", "file", "line_before", "line_after", "before", "after", "change"), rows)
    sites = view.after.anatomy.sites if view.after.anatomy else ()
    return Table.from_records(
        sites,
        ("function", lambda site: site.frame.function),
        ("module", lambda site: site.frame.module),
        ("file", lambda site: site.frame.file),
        ("line", lambda site: site.frame.line),
        *("memory", "touch", "faults"),
    )
