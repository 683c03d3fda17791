"""What a request needs, decided."""

import pytest
from apiflask import APIFlask

from service.rules.access.caller import LOCAL, Caller
from service.rules.access.scope import Scope, find_needed_scope

WRITES = {"GET", "HEAD", "OPTIONS"}


def test_whoever_may_everything_may_each_thing() -> None:
    assert all(LOCAL.may(scope) for scope in Scope)
    assert all(Caller("ci", frozenset({Scope.ADMIN})).may(scope) for scope in Scope)


def test_no_scope_holds_another() -> None:
    for own in set(Scope) - {Scope.ADMIN}:
        assert [scope for scope in Scope if Caller("ci", frozenset({own})).may(scope)] == [own]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_write_that_nobody_thought_of_is_for_admins(method: str) -> None:
    assert find_needed_scope("api.something.new", method) is Scope.ADMIN
    assert find_needed_scope("api.drifts.get", "GET") is Scope.READ


def test_who_may_reach_the_service_and_how_it_is_set_is_shown_to_admins_alone() -> None:
    for endpoint in ("tokens.index", "tokens.listed_json", "settings.show", "settings.show_csv"):
        assert find_needed_scope(endpoint, "GET") is Scope.ADMIN


def test_every_write_of_the_service_was_thought_of(app: APIFlask) -> None:
    writes = {
        (rule.endpoint, method)
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}
        if find_needed_scope(rule.endpoint, method) is Scope.ADMIN
    }
    assert writes == {("tokens.make", "POST"), ("tokens.revoke", "POST")}


def test_only_what_lets_people_in_needs_nothing(app: APIFlask) -> None:
    endpoints = {rule.endpoint for rule in app.url_map.iter_rules() if find_needed_scope(rule.endpoint, "GET") is None}
    assert endpoints == {
        "static",
        "vendor.file",
        "api.health.show",
        "access.form",
        "access.sign_in",
        "access.sign_out",
        "definitions.show",
        "definitions.show_csv",
        "definitions.show_json",
        "api.actions.sign_in",
        "webhooks.receive",
    }
