"""Guessing tokens: the form, the header, identities of jobs; by two processes of one service."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from flask.testing import FlaskClient

from service.rules.access.scope import Scope
from service.rules.access.throttle import MAX_FAILURES, MAX_FAILURES_PER_ADDRESS, WINDOW
from service.store import tokens
from service.store.engine.database import Database
from service.store.tokens import generate_token

Start = Callable[..., FlaskClient]

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def token(start: Start, database: Database) -> str:
    start()
    with database.writing() as session:
        return tokens.issue_token(session, "reader", [Scope.READ], 1, datetime.now(UTC)).text


def ask(client: FlaskClient, text: str, address: str = "192.0.2.1") -> tuple[int, int]:
    headers = {"Authorization": f"Bearer {text}", "X-Forwarded-For": f"203.0.113.9, {address}"}
    answer = client.get("/api/v1/runs", headers=headers)
    return answer.status_code, int(answer.headers.get("Retry-After", 0))


def test_an_address_that_guesses_is_refused_by_every_process_until_it_has_waited(
    start: Start, token: str, database: Database
) -> None:
    one, two = start(), start()
    for number in range(MAX_FAILURES_PER_ADDRESS):
        assert ask((one, two)[number % 2], generate_token().text) == (401, 0)
    for client in (one, two):
        status, wait = ask(client, token)
        assert status == 429, "not even a right token is looked at"
        assert 0 < wait <= WINDOW.total_seconds()
        form = client.post("/sign-in", data={"token": token}, headers={"X-Forwarded-For": "192.0.2.1"})
        assert (form.status_code, "Retry-After" in form.headers) == (429, True)
        assert ask(client, token, "192.0.2.2")[0] == 200, "others are not affected"
    with database.reading() as session:
        assert len(tokens.list_failed_sign_ins(session, datetime.now(UTC))) == MAX_FAILURES_PER_ADDRESS, (
            "who is refused is not counted"
        )
        assert not tokens.list_failed_sign_ins(session, datetime.now(UTC) + WINDOW + timedelta(seconds=1))


def test_guesses_from_many_addresses_are_refused_and_right_tokens_accepted(start: Start, token: str) -> None:
    client = start()
    for number in range(MAX_FAILURES):
        assert ask(client, generate_token().text, f"10.0.{number}.1")[0] == 401
    assert ask(client, generate_token().text, "10.1.0.1")[0] == 429
    assert ask(client, token, "10.1.0.2")[0] == 200


def test_a_token_that_has_expired_or_was_revoked_is_no_guess(start: Start, token: str, database: Database) -> None:
    client = start()
    with database.writing() as session:
        tokens.revoke_token(session, token.split("_")[1], datetime.now(UTC))
    assert {ask(client, token) for _ in range(MAX_FAILURES_PER_ADDRESS + 2)} == {(401, 0)}


@pytest.mark.parametrize("proxy", ["::ffff:198.51.100.7", "::ffff:127.0.0.1"])
def test_a_proxy_is_also_known_by_the_form_of_its_address_on_a_socket_for_both_protocols(
    start: Start, token: str, proxy: str
) -> None:
    client = start(proxies=("198.51.100.7",))

    def ask_by_proxy(text: str, address: str) -> int:
        headers = {"Authorization": f"Bearer {text}", "X-Forwarded-For": address}
        return client.get("/api/v1/runs", headers=headers, environ_base={"REMOTE_ADDR": proxy}).status_code

    for _ in range(MAX_FAILURES_PER_ADDRESS):
        assert ask_by_proxy(generate_token().text, "192.0.2.1") == 401
    assert ask_by_proxy(token, "192.0.2.1") == 429
    assert ask_by_proxy(token, "192.0.2.2") == 200


def test_only_a_proxy_is_believed_for_whom_it_asks(start: Start, token: str) -> None:
    client = start()
    for number in range(MAX_FAILURES_PER_ADDRESS):
        headers = {"Authorization": f"Bearer {generate_token().text}", "X-Forwarded-For": f"10.0.0.{number}"}
        client.get("/api/v1/runs", headers=headers, environ_base={"REMOTE_ADDR": "198.51.100.7"})
    right = {"Authorization": f"Bearer {token}"}
    answer = client.get("/api/v1/runs", headers=right, environ_base={"REMOTE_ADDR": "198.51.100.7"})
    assert answer.status_code == 429
