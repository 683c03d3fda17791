"""GitHub tokens with which hosts register self-hosted runners, so that no host needs the key of the GitHub App."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Literal

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, StringConstraints

from runner.contract.gate import ForgeKind
from service.forges.extension import find_worker
from service.schemas.audit import AuditAction
from service.web.access import audit_log
from service.web.access.token_limits_and_ownership import require_access_to_repository
from service.web.app_resources import get_database
from service.web.problems import ProblemError, make_not_found

bp = APIBlueprint("runner_tokens", __name__)


class RunnerTokenRequest(BaseModel):
    """The repository whose runner is registered or removed."""

    model_config = ConfigDict(extra="forbid")

    repository: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$")]
    purpose: Literal["registration", "remove"] = "registration"


class RunnerToken(BaseModel):
    """The token from GitHub. It is valid for an hour."""

    token: str
    expires_at: str


@bp.post("/github/runner-tokens")
@bp.input(RunnerTokenRequest)
@bp.output(RunnerToken)
def post(json_data: RunnerTokenRequest) -> RunnerToken:
    """Request a GitHub token, as the GitHub App, to register or remove a self-hosted runner.

    The token of the caller lists the repositories for which this is allowed.
    """
    require_access_to_repository(json_data.repository)
    forge_worker = find_worker()
    github = forge_worker.forges.get(ForgeKind.GITHUB) if forge_worker else None
    if github is None:
        raise make_not_found("GitHub App for this service")
    from service.forges.github.client import CALL_ERRORS  # noqa: PLC0415 - only where there is an App
    from service.forges.github.forge import GithubForge  # noqa: PLC0415

    assert isinstance(github, GithubForge)

    try:
        answer = github.client.request_runner_token(json_data.repository, json_data.purpose)
    except CALL_ERRORS as error:
        message = getattr(error, "message", "") or type(error).__name__
        detail = (
            f"GitHub did not create a token: {message}. If GitHub refused, check that the App has the permission "
            f"`administration: write` for {json_data.repository}."
        )
        raise ProblemError(HTTPStatus.BAD_GATEWAY, detail) from None
    with get_database().writing() as session:
        audit_log.record_action(session, AuditAction.RUNNER_TOKEN, json_data.repository, {"purpose": json_data.purpose})
    return RunnerToken(token=answer["token"], expires_at=answer["expires_at"])
