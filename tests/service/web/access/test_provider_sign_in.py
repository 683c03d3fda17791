"""People sign in at an identity provider; whatever does not prove who they are is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from flask.testing import FlaskClient
from joserfc.jwk import OctKey
from sqlalchemy import select
from werkzeug.test import TestResponse

from service.config.identity_provider import IdentityProvider
from service.rules.access.scope import Scope
from service.store import tokens
from service.store.engine.database import Database
from service.store.models import AuditRow, Token, VisitRow
from tests.service.openid_provider import CLIENT, SECRET, Provider, make_key, running

Start = Callable[..., FlaskClient]
ADDRESS = "http://localhost"
PERF = (("perf", ("read", "triage")), ("admins", ("admin",)))


@pytest.fixture(scope="module")
def _served() -> Iterator[Provider]:
    with running(Provider()) as provider:
        yield provider


@pytest.fixture
def provider(_served: Provider) -> Provider:
    """A provider that does everything right."""
    _served.reset()
    return _served


def settings(provider: Provider, **changes: Any) -> IdentityProvider:
    values = {"address": ADDRESS, "issuer": provider.url, "client": CLIENT, "secret": SECRET, "groups": PERF}
    return IdentityProvider(**values | changes)


@pytest.fixture
def browser(start: Start, provider: Provider) -> FlaskClient:
    return start(provider=settings(provider))


def begin(browser: FlaskClient, to: str = "/") -> str:
    """Begin a sign-in; return where the service sends the browser."""
    sent = browser.get("/sign-in/provider", query_string={"to": to})
    assert sent.status_code == 302
    return sent.headers["Location"]


def come_back(browser: FlaskClient, back: str) -> TestResponse:
    assert back.startswith(f"{ADDRESS}/sign-in/provider/callback?")
    return browser.get(back.removeprefix(ADDRESS))


def sign_in(browser: FlaskClient, provider: Provider, to: str = "/") -> TestResponse:
    return come_back(browser, provider.authorize(begin(browser, to)))


def is_signed_in(browser: FlaskClient) -> bool:
    return browser.get("/api/v1/runs").status_code == 200


def list_audit(database: Database) -> list[tuple[str, str, str, dict[str, Any]]]:
    with database.reading() as session:
        rows = session.scalars(select(AuditRow).order_by(AuditRow.id))
        return [(row.action, row.author, row.target, row.detail) for row in rows if "sign" in row.action]


def test_a_person_signs_in_and_may_do_what_the_group_allows(
    browser: FlaskClient, provider: Provider, database: Database
) -> None:
    form = browser.get("/sign-in?to=/environments").text
    assert f"Sign in with {urlsplit(provider.url).netloc}" in form
    assert 'name="token"' in form, "tokens are accepted as well"
    assert 'href="/sign-in/provider?to=/environments"' in form
    answer = sign_in(browser, provider, "/environments")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/environments")
    assert "Signed in as ada@example.org" in browser.get("/environments").text
    assert browser.get("/tokens").status_code == 403, "the group has no admin"
    ((action, author, target, detail),) = list_audit(database)
    assert (action, author) == ("signed in", "ada@example.org")
    assert detail == {"issuer": provider.url, "subject": "person-1", "scopes": ["read", "triage"]}
    assert target.startswith("token ")


def test_a_decision_has_the_name_of_the_person(browser: FlaskClient, provider: Provider, database: Database) -> None:
    sign_in(browser, provider)
    silence = {"subject": "copies", "reason": "known", "until": "2999-01-01T00:00:00Z"}
    made = browser.post("/api/v1/silences", json=silence)
    assert made.status_code in {200, 201}, made.text
    assert made.get_json()["author"] == "ada@example.org"


def test_the_requests_of_a_sign_in_are_bound_to_the_browser_the_service_and_the_sign_in(
    browser: FlaskClient, provider: Provider
) -> None:
    first, second = (dict(parse_qsl(urlsplit(begin(browser)).query)) for _ in range(2))
    assert first["redirect_uri"] == f"{ADDRESS}/sign-in/provider/callback"
    assert first["scope"] == "openid profile email"
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) >= 20
        assert first[name] != second[name]


def test_sign_ins_that_are_not_ended_leave_the_cookie_small(browser: FlaskClient) -> None:
    cookies = [browser.get("/sign-in/provider").headers["Set-Cookie"] for _ in range(10)]
    assert len(cookies[-1]) < 1.1 * len(cookies[0])


@pytest.mark.parametrize(
    ("address", "secure"), [("http://localhost", False), ("https://faults.example.org", True)], ids=["http", "https"]
)
def test_the_cookie_comes_back_from_the_provider_and_is_sent_only_over_tls(
    start: Start, provider: Provider, address: str, secure: bool
) -> None:
    browser = start(provider=settings(provider, address=address), address=address)
    cookie = browser.get("/sign-in/provider").headers["Set-Cookie"]
    assert ("Secure" in cookie) is secure
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_a_session_of_a_token_alone_stays_strict(start: Start) -> None:
    browser = start()
    assert browser.application.config["SESSION_COOKIE_SAMESITE"] == "Strict"
    assert browser.get("/sign-in/provider").status_code == 404
    assert "Sign in with" not in browser.get("/sign-in").text


HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example.org"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": "another-client", "azp": CLIENT},
        {"aud": [CLIENT, "another-client"], "azp": "another-client"},
        {"aud": None},
        {"exp": -HOUR},
        {"exp": None},
        {"iat": HOUR},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"sub": None},
        {"sub": ""},
    ],
    ids=str,
)
def test_an_id_token_with_a_wrong_claim_is_refused(
    browser: FlaskClient, provider: Provider, database: Database, changes: dict[str, Any]
) -> None:
    provider.changes = changes
    answer = sign_in(browser, provider)
    assert answer.status_code == 403
    assert "did not sign you in" in answer.text
    assert not is_signed_in(browser)
    assert [entry[0] for entry in list_audit(database)] == ["sign-in failed"]


def test_clocks_may_differ_a_little(browser: FlaskClient, provider: Provider) -> None:
    provider.changes = {"iat": timedelta(seconds=30), "exp": -timedelta(seconds=30)}
    assert sign_in(browser, provider).status_code == 302
    assert is_signed_in(browser)


@pytest.mark.parametrize(
    "signing",
    [
        (make_key("one", "somebody"), "RS256"),
        (OctKey.import_key(SECRET, {"kid": "one"}), "HS256"),
        (OctKey.import_key(SECRET, {"kid": "one"}), "none"),
    ],
    ids=["another key", "the client secret", "nobody"],
)
def test_an_id_token_that_the_provider_did_not_sign_is_refused(
    browser: FlaskClient, provider: Provider, signing: tuple[Any, str]
) -> None:
    provider.description_changes = {"id_token_signing_alg_values_supported": ["RS256", "HS256", "none"]}
    provider.signing = signing
    assert sign_in(browser, provider).status_code == 403
    assert not is_signed_in(browser)


def test_a_new_key_of_the_provider_is_fetched(browser: FlaskClient, provider: Provider) -> None:
    assert sign_in(browser, provider).status_code == 302
    provider.rotate("two")
    assert sign_in(browser, provider).status_code == 302
    assert is_signed_in(browser)


def test_an_answer_that_another_browser_began_is_refused(
    browser: FlaskClient, provider: Provider, database: Database
) -> None:
    back = provider.authorize(begin(browser))
    victim = browser.application.test_client()
    answer = come_back(victim, back)
    assert answer.status_code == 400
    assert "began in another browser" in answer.text
    assert not is_signed_in(victim)
    begin(victim)
    assert come_back(victim, back).status_code == 400, "neither while it begins its own"
    assert list_audit(database) == [], "other sites can cause it: it is not counted"


def test_an_answer_is_used_once(browser: FlaskClient, provider: Provider) -> None:
    back = provider.authorize(begin(browser))
    with browser.session_transaction() as session:
        before = dict(session)
    assert come_back(browser, back).status_code == 302
    browser.post("/sign-out")
    assert come_back(browser, back).status_code == 400
    with browser.session_transaction() as session:
        session.update(before)  # a copy of the cookie from before
    assert come_back(browser, back).status_code == 403, "the provider accepts a code once"
    assert not is_signed_in(browser)


def test_a_code_of_another_sign_in_is_refused(browser: FlaskClient, provider: Provider) -> None:
    stolen = dict(parse_qsl(urlsplit(provider.authorize(begin(browser.application.test_client()))).query))["code"]
    own = dict(parse_qsl(urlsplit(begin(browser)).query))["state"]
    answer = browser.get("/sign-in/provider/callback", query_string={"code": stolen, "state": own})
    assert answer.status_code == 403, "its verifier is another"
    assert not is_signed_in(browser)


def test_an_answer_of_another_issuer_is_refused(browser: FlaskClient, provider: Provider) -> None:
    back = provider.authorize(begin(browser))
    assert come_back(browser, f"{back}&iss=https%3A%2F%2Fother.example.org").status_code == 403
    assert come_back(browser, back).status_code == 400, "the sign-in has ended"
    assert not is_signed_in(browser)


def test_a_sign_in_ends_within_an_hour(
    browser: FlaskClient, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = provider.authorize(begin(browser))
    now = time.time()
    monkeypatch.setattr("service.web.access.provider_sign_in.time.time", lambda: now + HOUR.total_seconds() + 1)
    assert come_back(browser, back).status_code == 400


def test_a_person_who_cancels_is_told_so_without_the_words_of_the_address(
    browser: FlaskClient, provider: Provider
) -> None:
    state = dict(parse_qsl(urlsplit(begin(browser)).query))["state"]
    query = {"error": "access_denied", "error_description": "<b>call 0123</b>", "state": state}
    answer = browser.get("/sign-in/provider/callback", query_string=query)
    assert answer.status_code == 403
    assert "did not sign you in" in answer.text
    assert "0123" not in answer.text


def test_a_session_does_not_begin_with_what_the_cookie_had(
    browser: FlaskClient, provider: Provider, database: Database
) -> None:
    with database.writing() as session:
        admin = tokens.issue_token(session, "boss", [Scope.ADMIN], 1, datetime.now(UTC))
    browser.post("/sign-in", data={"token": admin.text})
    with browser.session_transaction() as cookie:
        cookie["planted"] = "x"
    sign_in(browser, provider)
    with browser.session_transaction() as cookie:
        assert sorted(cookie) == ["by-provider", "token"]
        assert cookie["token"] != admin.id
    assert browser.get("/tokens").status_code == 403, "the scopes are those of the groups"


def test_the_database_ends_a_session(start: Start, provider: Provider, database: Database) -> None:
    browser = start(provider=settings(provider, lifetime=timedelta(hours=1)))
    sign_in(browser, provider)
    assert is_signed_in(browser)
    with database.writing() as session:
        (token,) = session.scalars(select(Token))
        assert token.expires_at - token.created_at == timedelta(hours=1)
        token.expires_at = token.created_at
    assert not is_signed_in(browser)


def test_sign_out_ends_the_session_for_copies_of_the_cookie_too_and_leads_to_the_provider(
    browser: FlaskClient, provider: Provider, database: Database
) -> None:
    sign_in(browser, provider)
    with browser.session_transaction() as session:
        copied = dict(session)
    page = browser.post("/sign-out")
    assert page.status_code == 200
    assert f'content="0; url={provider.url}/end?post_logout_redirect_uri=' in page.text
    assert "ada@example.org" not in page.text
    with browser.session_transaction() as session:
        assert not session
        session.update(copied)
    assert not is_signed_in(browser)
    assert [entry[:2] for entry in list_audit(database)] == [
        ("signed in", "ada@example.org"),
        ("signed out", "ada@example.org"),
    ]


@pytest.mark.parametrize("page", [None, 7])
def test_sign_out_of_a_provider_without_a_page_for_it_ends_here(
    browser: FlaskClient, provider: Provider, page: object
) -> None:
    provider.description_changes = {"end_session_endpoint": page}
    sign_in(browser, provider)
    assert browser.post("/sign-out").headers["Location"] == "/sign-in"


def test_the_last_visit_is_one_of_an_earlier_session(
    browser: FlaskClient, provider: Provider, database: Database
) -> None:
    sign_in(browser, provider)
    assert browser.get("/").status_code == 200
    browser.post("/sign-out")
    with database.writing() as session:
        (first,) = session.scalars(select(VisitRow))
        first.seen_at = seen_at = first.seen_at - timedelta(days=1)
    sign_in(browser, provider)
    browser.get("/")
    with database.reading() as session:
        second = session.scalars(select(VisitRow).order_by(VisitRow.seen_at)).all()[-1]
        assert second.since == seen_at


def test_another_site_signs_nobody_out(browser: FlaskClient, provider: Provider) -> None:
    sign_in(browser, provider)
    assert browser.post("/sign-out", headers={"Origin": "https://evil.example"}).status_code == 403
    assert is_signed_in(browser)


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "/" + "x" * 5000]
)
def test_a_sign_in_leads_to_no_other_site(browser: FlaskClient, provider: Provider, to: str) -> None:
    assert sign_in(browser, provider, to).headers["Location"] == "/"


def test_a_person_without_a_group_is_told_so_and_is_nobody(
    browser: FlaskClient, provider: Provider, database: Database
) -> None:
    provider.person["groups"] = ["other"]
    answer = sign_in(browser, provider)
    assert answer.status_code == 403
    assert "You signed in as ada@example.org, but none of your groups has access to this service." in answer.text
    assert not is_signed_in(browser)
    assert [entry[0] for entry in list_audit(database)] == ["sign-in failed"]
    with database.reading() as session:
        assert not tokens.list_failed_sign_ins(session, datetime.now(UTC)), "the person guesses nothing"


def test_groups_come_from_what_the_provider_tells_when_asked(browser: FlaskClient, provider: Provider) -> None:
    del provider.person["groups"]
    provider.further = {"sub": "person-1", "groups": ["admins"], "iss": "x"}
    assert sign_in(browser, provider).status_code == 302
    assert browser.get("/tokens").status_code == 200


def test_claims_of_another_person_are_refused(browser: FlaskClient, provider: Provider) -> None:
    provider.further = {"sub": "person-2", "groups": ["admins"]}
    assert sign_in(browser, provider).status_code == 403
    assert not is_signed_in(browser)


def test_names_are_shown_as_text(browser: FlaskClient, provider: Provider) -> None:
    provider.person["email"] = "<img/src=x>@example.org"
    sign_in(browser, provider)
    page = browser.get("/environments").text
    assert "<img" not in page
    assert "&lt;img/src=x&gt;@example.org" in page


def test_tokens_work_while_the_provider_is_away(browser: FlaskClient, provider: Provider, database: Database) -> None:
    with database.writing() as session:
        token = tokens.issue_token(session, "reader", [Scope.READ], 1, datetime.now(UTC))
    provider.up = False
    answer = browser.get("/sign-in/provider?to=/environments")
    assert answer.status_code == 503
    assert "does not work at the moment" in answer.text
    assert 'value="/environments"' in answer.text
    assert browser.post("/sign-in", data={"token": token.text}).status_code == 302
    assert browser.post("/sign-out").headers["Location"] == "/sign-in"
    provider.up = True
    back = provider.authorize(begin(browser))
    provider.up = False
    assert come_back(browser, back).status_code == 503
    provider.up = True
    assert sign_in(browser, provider).status_code == 302


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://other.example.org"},
        {"issuer": None},
        {"authorization_endpoint": None},
        {"authorization_endpoint": 7},
    ],
    ids=str,
)
def test_a_provider_that_describes_another_is_not_used(
    browser: FlaskClient, provider: Provider, changes: dict[str, Any]
) -> None:
    provider.description_changes = changes
    assert browser.get("/sign-in/provider").status_code == 503


def test_a_description_does_not_change_how_people_sign_in(browser: FlaskClient, provider: Provider) -> None:
    provider.description_changes = {"code_challenge_method": None, "scope": "everything", "default_timeout": 1e300}
    asked = dict(parse_qsl(urlsplit(begin(browser)).query))
    assert asked["code_challenge_method"] == "S256"
    assert asked["scope"] == "openid profile email"


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys", "/userinfo"])
@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        "text",
        [],
        [[]],
        {},
        {"keys": [7]},
        {"id_token": 7, "access_token": "x", "token_type": "Bearer"},
        {"sub": []},
    ],
    ids=str,
)
def test_an_answer_without_sense_is_no_crash(
    browser: FlaskClient, provider: Provider, path: str, answer: object
) -> None:
    provider.further = {"sub": "person-1"}
    provider.answers[path] = answer
    begun = browser.get("/sign-in/provider")
    if begun.status_code == 302:
        begun = come_back(browser, provider.authorize(begun.headers["Location"]))
    assert begun.status_code in {403, 503}
    assert not is_signed_in(browser)


def test_failed_answers_are_counted_as_wrong_tokens_are(browser: FlaskClient, provider: Provider) -> None:
    provider.changes = {"nonce": "wrong"}
    assert {sign_in(browser, provider).status_code for _ in range(10)} == {403}
    assert browser.get("/sign-in/provider").status_code == 429
    answer = browser.get("/sign-in/provider/callback?code=x&state=y")
    assert (answer.status_code, "Retry-After" in answer.headers) == (429, True)
