"""Who a person is and may do, by the claims of the identity provider."""

from __future__ import annotations

from typing import Any

import pytest

from service.rules.access.person_claims import PersonRefused, admit_person
from service.rules.access.scope import Scope

CLAIMS: dict[str, Any] = {"sub": "1", "email": "ada@example.org", "email_verified": True, "groups": ["perf"]}
SCOPES = (
    ("perf", ("read", "triage")),
    ("lab", ("order",)),
    ("ada@example.org", ("admin",)),
    ("example.org", ("read",)),
)


def admit(claim: str = "groups", domains: tuple[str, ...] = (), **changes: Any) -> tuple[str, frozenset[Scope]]:
    person = admit_person(CLAIMS | changes, claim.split(), SCOPES, domains)
    return person.name, person.scopes


def test_who_is_in_several_groups_has_the_scopes_of_all() -> None:
    assert admit(groups=["perf", "lab", "other"])[1] == {Scope.READ, Scope.TRIAGE, Scope.ORDER}


def test_a_single_group_may_be_no_list() -> None:
    assert admit("hd", hd="example.org")[1] == {Scope.READ}


@pytest.mark.parametrize("groups", [[], None, ["Perf"], ["perf "], [["perf"]], {"perf": 1}, 7, True, "per"])
def test_who_is_in_no_group_has_no_access(groups: object) -> None:
    with pytest.raises(PersonRefused, match="none of your groups has access"):
        admit(groups=groups)


def test_several_claims_can_name_groups() -> None:
    assert admit("groups email")[1] == {Scope.READ, Scope.TRIAGE, Scope.ADMIN}


@pytest.mark.parametrize("verified", [False, None, "false", [True], 0])
def test_an_address_counts_only_if_the_provider_verified_it(verified: object) -> None:
    with pytest.raises(PersonRefused):
        admit("email", email_verified=verified)
    with pytest.raises(PersonRefused, match=r"verified e-mail address at example\.org"):
        admit(domains=("example.org",), email_verified=verified)


@pytest.mark.parametrize(
    "email", ["ada@example.org.evil", "ada@sub.example.org", "example.org@evil", "example.org", "ada", ""]
)
def test_an_address_of_another_domain_is_refused(email: str) -> None:
    with pytest.raises(PersonRefused, match=r"verified e-mail address at example\.org"):
        admit(domains=("example.org",), email=email)


def test_upper_and_lower_case_of_a_domain_are_the_same() -> None:
    assert admit(domains=("example.org",), email="Ada@Example.ORG")[0] == "Ada@Example.ORG"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "ada@example.org"),
        ({"email_verified": False, "preferred_username": "ada", "name": "Boss"}, "ada"),
        ({"email": None, "name": "Boss"}, "1"),
        ({"email": "a\u202eda\n@example.org"}, "ada@example.org"),
        ({"email": "a" * 300}, "a" * 100),
        ({"email": "\n", "preferred_username": 7}, "1"),
    ],
)
def test_a_name_is_what_the_provider_vouches_for(changes: dict[str, Any], name: str) -> None:
    assert admit(**changes)[0] == name
