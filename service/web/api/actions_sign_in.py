"""Sign-in of GitHub Actions jobs: exchanges the OIDC token of a job (its identity) for a token of the service."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING

from apiflask import APIBlueprint, APIFlask
from flask import current_app

from runner.contract.sign_in import Admission, Identity
from service.config.trusted_jobs import IdentityRefused, IssuerUnavailable, TrustedJobs
from service.rules.access.scope import Scope
from service.rules.access.subject_ownership import compute_job_limits
from service.schemas.audit import AuditAction
from service.store import tokens
from service.store.models import Token
from service.web.access import audit_log
from service.web.access.credentials import count_failure, refuse_throttled_caller
from service.web.app_resources import get_database
from service.web.problems import ProblemError, make_not_found

if TYPE_CHECKING:
    from service.web.access.actions_identity import IdentityVerifier

bp = APIBlueprint("actions", __name__)

TOKEN_LIFETIME = timedelta(hours=2)
"""Long enough for a job that measures and then reports. A longer job can sign in again with a new identity."""
_VERIFIER = "faultwatch.identities"
_TRUSTED_JOBS_KEY = "faultwatch.trusted_jobs"
_MAX_NAME_CHARACTERS = 100
_RETRY_SECONDS = 5
"""After which a job tries again if the keys of the issuer cannot be fetched."""


def register_trusted_jobs(app: APIFlask, trusted_jobs: TrustedJobs | None) -> None:
    """Let jobs sign in to an application."""
    if trusted_jobs is not None:
        from service.web.access.actions_identity import IdentityVerifier  # noqa: PLC0415 - cryptography, which others need not load

        app.extensions[_VERIFIER] = IdentityVerifier(trusted_jobs)
        app.extensions[_TRUSTED_JOBS_KEY] = trusted_jobs


@bp.post("/sign-in/actions")
@bp.input(Identity)
@bp.output(Admission)
def sign_in(json_data: Identity) -> Admission:
    """Exchange the OIDC token of a job for a token of the service, limited to its repository and to two hours.

    Each OIDC token is accepted only once.
    """
    verifier: IdentityVerifier | None = current_app.extensions.get(_VERIFIER)
    if verifier is None:
        raise make_not_found("GitHub Actions job that may sign in here")
    trusted_jobs: TrustedJobs = current_app.extensions[_TRUSTED_JOBS_KEY]
    # Verify the identity of the job.
    refuse_throttled_caller()
    try:
        job = verifier.verify(json_data.token)
    except IdentityRefused as error:
        count_failure("identity of an Actions job", str(error))
        raise ProblemError(HTTPStatus.UNAUTHORIZED, f"This identity token was refused: {error}.") from None
    except IssuerUnavailable as error:
        headers = {"Retry-After": str(_RETRY_SECONDS)}
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, f"Try again: {error}.", headers=headers) from None
    # Issue a token for what the job may report.
    new_token, now = tokens.generate_token(), datetime.now(UTC)
    stored_token = Token(
        id=new_token.id,
        name=f"actions {job.repository} {job.run_id}"[:_MAX_NAME_CHARACTERS],
        digest=new_token.digest,
        scopes=[Scope.REPORT.value],
        created_at=now,
        expires_at=now + TOKEN_LIFETIME,
        repository=job.repository,
        **tokens.build_limit_columns(
            compute_job_limits(job.repository, trusted_jobs.subjects, trusted_jobs.hosts or None)
        ),
    )
    # Store the token together with the identity, so that two requests at the same time cannot both use the identity.
    with get_database().writing() as session:
        if not tokens.record_identity(session, job.jti, job.expires_at, now):
            raise ProblemError(HTTPStatus.UNAUTHORIZED, "This identity token has already been used: request a new one.")
        tokens.add_token(session, stored_token)
        audit_log.record_action(
            session, AuditAction.JOB_SIGNED_IN, f"token {stored_token.id}", author=stored_token.name
        )
        return Admission(token=new_token.text, expires_at=stored_token.expires_at, scopes=(Scope.REPORT.value,))
