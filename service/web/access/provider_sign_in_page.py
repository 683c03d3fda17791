"""The routes by which people sign in at the identity provider. Each new session gets a token of its own."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from flask import Blueprint, Flask, current_app, redirect, request
from flask.typing import ResponseReturnValue

from service.config.identity_provider import IdentityProvider
from service.rules.access.person_claims import Person, PersonRefused, admit_person
from service.schemas.audit import AuditAction
from service.store import tokens
from service.store.models import Token
from service.web.access import audit_log
from service.web.access.credentials import count_failure, refuse_throttled_caller
from service.web.access.provider_errors import ProviderUnavailable, SignInNotBegun, SignInRefused
from service.web.access.sessions import begin_session
from service.web.access.sign_in_page import render_problem, render_sign_in_page, restrict_address_to_own_pages
from service.web.app_resources import get_database
from service.web.problems import ProblemError

if TYPE_CHECKING:
    from service.web.access.provider_sign_in import ProviderClient

log = logging.getLogger(__name__)
bp = Blueprint("provider", __name__, url_prefix="/sign-in/provider")

_EXTENSION = "faultwatch.provider"
_METHOD = "identity provider"
_UNKNOWN_SIGN_IN_PROBLEM = "This sign-in was already used, took too long, or began in another browser. Sign in again."


def register(app: Flask, provider: IdentityProvider | None) -> None:
    """Let people sign in to an application at an identity provider; None if there is none."""
    if provider is not None:
        from service.web.access.provider_sign_in import ProviderClient  # noqa: PLC0415 - others need no Authlib

        app.extensions[_EXTENSION] = provider, ProviderClient(app, provider)
        app.register_blueprint(bp)


@bp.get("")
def begin() -> ResponseReturnValue:
    """Send the browser to the provider."""
    provider, client = _find_provider()
    destination = restrict_address_to_own_pages(request.args.get("to", "/"))
    try:
        refuse_throttled_caller()
        return redirect(client.begin_sign_in(destination))
    except ProblemError as error:
        return render_problem(destination, error)
    except (ProviderUnavailable, SignInRefused) as error:
        return _render_unavailable_provider(provider, destination, error)


@bp.get("/callback")
def end() -> ResponseReturnValue:
    """Verify the provider's answer, which the browser carries, and begin a session."""
    provider, client = _find_provider()
    destination = "/"
    try:
        refuse_throttled_caller()
        claims, destination = client.end_sign_in()
        person = admit_person(claims, provider.claims, provider.groups, provider.domains)
    except ProblemError as error:
        return render_problem(destination, error)
    except SignInNotBegun:
        return render_sign_in_page(destination, _UNKNOWN_SIGN_IN_PROBLEM, HTTPStatus.BAD_REQUEST)
    except ProviderUnavailable as error:
        return _render_unavailable_provider(provider, destination, error)
    except SignInRefused as error:
        return _refuse_answer(provider, str(error))
    except PersonRefused as error:
        # Not counted as a failure: the person did sign in, so this is not a guess.
        with get_database().writing() as store:
            audit_log.record_action(store, AuditAction.SIGN_IN_FAILED, _METHOD, {"reason": str(error)})
        return render_sign_in_page(destination, str(error), HTTPStatus.FORBIDDEN)
    begin_session(_issue_session_token(provider, person), by_provider=True)
    return redirect(destination)


def build_sign_out_address() -> str | None:
    """Return the provider's address at which to sign out there; None without a provider, or if it offers none."""
    if _EXTENSION not in current_app.extensions:
        return None
    _provider, client = _find_provider()
    return client.build_sign_out_address()


def _find_provider() -> tuple[IdentityProvider, ProviderClient]:
    provider, client = current_app.extensions[_EXTENSION]
    return provider, client


def _issue_session_token(provider: IdentityProvider, person: Person) -> str:
    """Store a token for a person's session; return its id. Nobody learns its secret, which is discarded at once."""
    presented_token, now = tokens.generate_token(), datetime.now(UTC)
    stored_token = Token(
        id=presented_token.id,
        name=person.name,
        digest=presented_token.digest,
        scopes=sorted(scope.value for scope in person.scopes),
        created_at=now,
        expires_at=now + provider.lifetime,
    )
    detail = {"issuer": provider.issuer, "subject": person.subject, "scopes": stored_token.scopes}
    with get_database().writing() as store:
        last_visit = tokens.find_last_visit(store, person.name)
        tokens.add_token(store, stored_token)
        if last_visit is not None:  # Visits are stored by token: the new token continues the person's last visit.
            tokens.store_visit(store, stored_token.id, last_visit)
        audit_log.record_action(store, AuditAction.SIGNED_IN, f"token {stored_token.id}", detail, person.name)
        return stored_token.id


def _refuse_answer(provider: IdentityProvider, reason: str) -> ResponseReturnValue:
    """Count an answer that does not prove who the person is as a failed sign-in; return the sign-in page."""
    log.warning("a sign-in at %s was refused: %s", provider.host, reason)
    try:
        count_failure(_METHOD, reason)
    except ProblemError as error:
        return render_problem("/", error)
    message = f"{provider.host} did not sign you in. This service's log says why."
    return render_sign_in_page("/", message, HTTPStatus.FORBIDDEN)


def _render_unavailable_provider(provider: IdentityProvider, destination: str, error: Exception) -> ResponseReturnValue:
    """Log why the provider cannot be reached, and return the sign-in page with a message that does not say why."""
    log.warning("%s is not available for sign-ins: %s", provider.host, error)
    message = (
        f"Signing in with {provider.host} does not work at the moment. Try again later, or sign in with a token. This "
        "service's log says why."
    )
    return render_sign_in_page(destination, message, HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "10"})
