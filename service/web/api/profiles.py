"""Profiles: sent by runners, read back, and downloaded in the formats of other tools."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal
from uuid import UUID

from apiflask import APIBlueprint
from flask import Response, request

from runner.contract import profile_formats
from runner.contract.profile import Profile, StackKind
from service.pipeline import ingest_profiles
from service.schemas.profile_summaries import ProfileList, ProfileReceipt
from service.store import profiles
from service.web.access.token_limits_and_ownership import require_access_to_report
from service.web.api.body import PageQuery, register_reader
from service.web.app_resources import get_database
from service.web.problems import ProblemError, make_field_problem, make_not_found

bp = APIBlueprint("profiles", __name__)

MAX_BYTES = 32 * 1024 * 1024
"""Largest profile as JSON. A profile with 50,000 stacks of 40 frames is a third of this size."""
_DOWNLOADS = {
    "folded": ("folded", "text/plain"),
    "speedscope": ("speedscope.json", "application/json"),
    "pprof": ("pb.gz", "application/octet-stream"),
}


class ProfileQuery(PageQuery):
    """The filters of a list of profiles."""

    subject: str | None = None
    case: str | None = None
    revision: str | None = None
    host: str | None = None


@bp.put("/profiles/<uuid:profile_id>")
@bp.input(Profile)
@bp.output(ProfileReceipt)
@bp.doc(responses={201: "Stored"})
def put(profile_id: UUID, json_data: Profile) -> tuple[ProfileReceipt, int]:
    """Store a profile. It is not a run, and has no samples.

    The same profile may be sent again: it is stored once, and the status is 200 instead of 201. A different profile
    with the same id is refused.
    """
    if json_data.profile_id != profile_id:
        detail = f"is {json_data.profile_id}, but the URL contains {profile_id}"
        raise make_field_problem("profile_id", detail)
    require_access_to_report([json_data.subject], [json_data.host.name])
    result = ingest_profiles.ingest_profile(get_database(), json_data)
    if result is profiles.StoreResult.CONFLICTING:
        raise ProblemError(
            HTTPStatus.CONFLICT, f"A different profile already has the id {profile_id}, and a profile never changes."
        )
    is_new = result is profiles.StoreResult.CREATED
    return ProfileReceipt(profile_id=profile_id, created=is_new), HTTPStatus.CREATED if is_new else HTTPStatus.OK


@bp.get("/profiles")
@bp.input(ProfileQuery, location="query")
@bp.output(ProfileList)
def index(query_data: ProfileQuery) -> ProfileList:
    """Return profiles without their stacks, the newest first."""
    profile_filter = profiles.ProfileFilter(**query_data.model_dump(exclude={"limit", "offset"}))
    with get_database().reading() as session:
        return profiles.list_page(session, profile_filter, query_data.limit, query_data.offset)


@bp.get("/profiles/<uuid:profile_id>")
@bp.doc(responses={200: "The profile, as `PUT` accepts it"})
def get(profile_id: UUID) -> Response:
    """Return a profile with its stacks, compressed for callers that accept gzip."""
    with get_database().reading() as session:
        document = profiles.find_compressed_profile(session, profile_id)
    if document is None:
        raise make_not_found(f"profile {profile_id}")
    if request.accept_encodings.quality("gzip"):
        response = Response(document, mimetype="application/json", headers={"Content-Encoding": "gzip"})
    else:
        response = Response(profiles.decompress_profile(document), mimetype="application/json")
    response.vary.add("Accept-Encoding")
    return response


@bp.get("/profiles/<uuid:profile_id>/<kind>.<any(folded, speedscope, pprof):form>")
@bp.doc(responses={200: "The stacks, as folded text or in the format of speedscope or pprof"})
def download(profile_id: UUID, kind: str, form: Literal["folded", "speedscope", "pprof"]) -> Response:
    """Return the stacks of one kind (faults, on-cpu, off-cpu, requested or returned) as a file for other tools."""
    with get_database().reading() as session:
        profile = profiles.find_profile(session, profile_id)
    stack_profiles = profile.stack_profiles if profile else ()
    stacks = next((stack_profile for stack_profile in stack_profiles if stack_profile.kind == kind), None)
    if profile is None or stacks is None:
        kinds = ", ".join(StackKind)
        raise make_not_found(f"profile {profile_id} with {kind} stacks (valid kinds: {kinds})")
    suffix, mimetype = _DOWNLOADS[form]
    headers = {"Content-Disposition": f'attachment; filename="{profile_id}-{stacks.kind}.{suffix}"'}
    return Response(profile_formats.format_stacks(profile, stacks, form), headers=headers, mimetype=mimetype)


def _parse_profile(body: bytes) -> Profile:
    """Return the profile in a body, unless it is too large."""
    if len(body) > MAX_BYTES:
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"This profile is {len(body) / 2**20:.1f} MiB of JSON, but at most {MAX_BYTES / 2**20:.0f} MiB are "
            "accepted. To shrink it, use frame pointers (--call-graph fp) instead of DWARF, or profile a shorter run "
            "of the program.",
        )
    return Profile.model_validate_json(body)


register_reader(Profile, _parse_profile)
