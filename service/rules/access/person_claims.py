"""Decides who a person is, and what the person may do, from the claims of an identity provider."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.rules.access.scope import Scope

MAX_NAME_CHARACTERS = 100
_NAME_CLAIMS = ("preferred_username", "sub")
"""What names a person without a verified e-mail address. The claim `name` is left out: people choose it freely."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signed in at the identity provider."""

    name: str
    """The name of the person in decisions and in the audit log."""
    subject: str
    """What the provider calls the person, now and in future; unlike names, it never becomes somebody else's."""
    scopes: frozenset[Scope]


class PersonRefused(Exception):
    """The person has no access; the message says why in one sentence."""


def admit_person(
    claims: Mapping[str, Any],
    group_claims: Iterable[str],
    group_scopes: Iterable[tuple[str, Iterable[str]]],
    domains: Collection[str] = (),
) -> Person:
    """Return the person to whom claims belong, with what the person may do.

    Parameters
    ----------
    claims
        What the provider says of the person, validated.
    group_claims
        The claims that name groups.
    group_scopes
        Groups, each with its scopes.
    domains
        The domains of which a person needs a verified e-mail address; empty if none is needed.

    Raises
    ------
    PersonRefused
        If the e-mail address is not one of these domains, or no group has scopes.
    """
    name = _find_name(claims)
    domain = _find_verified_email(claims).rpartition("@")[2].lower()
    if domains and domain not in domains:
        raise PersonRefused(
            f"You signed in as {name}, but this service needs a verified e-mail address of {' or '.join(domains)}."
        )
    groups = {group for claim in group_claims for group in _list_groups(claims, claim)}
    scopes = frozenset(Scope(scope) for group, assigned in group_scopes if group in groups for scope in assigned)
    if not scopes:
        raise PersonRefused(f"You signed in as {name}, but none of your groups has access to this service.")
    return Person(name, str(claims["sub"]), scopes)


def _list_groups(claims: Mapping[str, Any], claim: str) -> list[str]:
    """Return the groups that a claim names: a list, or a single one. The claim ``email`` has to be verified."""
    value = _find_verified_email(claims) if claim == "email" else claims.get(claim)
    values = value if isinstance(value, list) else [value]
    return [group for group in values if isinstance(group, str) and group]


def _find_name(claims: Mapping[str, Any]) -> str:
    """Return the name of a person: the verified e-mail address, or else what identifies the person at the provider.

    If none of these is a printable text, the name is "somebody".
    """
    names = (_find_verified_email(claims), *(claims.get(claim) for claim in _NAME_CLAIMS))
    printable = (_keep_printable(name) for name in names if isinstance(name, str))
    return next((name for name in printable if name), "somebody")


def _find_verified_email(claims: Mapping[str, Any]) -> str:
    """Return the e-mail address that the provider has verified; an empty text if it has verified none."""
    email = claims.get("email")
    is_verified = claims.get("email_verified") in (True, "true")  # some providers send a text
    return email if is_verified and isinstance(email, str) else ""


def _keep_printable(name: str) -> str:
    return "".join(character for character in name if character.isprintable()).strip()[:MAX_NAME_CHARACTERS]
