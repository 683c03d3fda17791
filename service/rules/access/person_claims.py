"""Decides from the claims of an identity provider who a person is, and what the person may do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from service.rules.access.scope import Scope

MAX_NAME_CHARACTERS = 100
_NAME_CLAIMS = ("preferred_username", "sub")
"""Claims that name a person without a verified e-mail address. `name` is not among them, as people choose it freely."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signed in at the identity provider."""

    name: str
    """The name of the person in decisions and in the audit log."""
    subject: str
    """The provider's permanent identifier of the person; unlike a name, it is never given to somebody else."""
    scopes: frozenset[Scope]


class PersonRefused(Exception):
    """The person has no access; the message says why in one sentence."""


def admit_person(
    claims: Mapping[str, Any],
    group_claims: Iterable[str],
    group_scopes: Iterable[tuple[str, Iterable[str]]],
    domains: Collection[str] = (),
) -> Person:
    """Return the person to whom the claims belong, with the person's scopes.

    Parameters
    ----------
    claims
        The validated claims of the provider about the person.
    group_claims
        The names of the claims that contain groups.
    group_scopes
        Groups, each with its scopes.
    domains
        A person needs a verified e-mail address in one of these domains; empty if none is needed.

    Raises
    ------
    PersonRefused
        If the person has no verified e-mail address in these domains, or none of the person's groups has scopes.
    """
    name = _find_name(claims)
    _, at_sign, domain = _find_verified_email(claims).rpartition("@")
    if domains and not (at_sign and domain.lower() in domains):
        raise PersonRefused(
            f"You signed in as {name}, but this service needs a verified e-mail address at {' or '.join(domains)}."
        )
    groups = {group for claim in group_claims for group in _list_groups(claims, claim)}
    scopes = frozenset(Scope(scope) for group, assigned in group_scopes if group in groups for scope in assigned)
    if not scopes:
        raise PersonRefused(f"You signed in as {name}, but none of your groups has access to this service.")
    return Person(name, str(claims["sub"]), scopes)


def _list_groups(claims: Mapping[str, Any], claim: str) -> list[str]:
    """Return the groups in a claim, which is a list or a single group; ``email`` counts only if it is verified."""
    value = _find_verified_email(claims) if claim == "email" else claims.get(claim)
    values = value if isinstance(value, list) else [value]
    return [group for group in values if isinstance(group, str) and group]


def _find_name(claims: Mapping[str, Any]) -> str:
    """Return the name of a person: the verified e-mail address, or else an identifier from the provider.

    If none of these is printable text, the name is "somebody".
    """
    names = (_find_verified_email(claims), *(claims.get(claim) for claim in _NAME_CLAIMS))
    printable_names = (_keep_printable(name) for name in names if isinstance(name, str))
    return next((name for name in printable_names if name), "somebody")


def _find_verified_email(claims: Mapping[str, Any]) -> str:
    """Return the e-mail address that the provider has verified; empty if it has verified none."""
    email = claims.get("email")
    is_verified = claims.get("email_verified") in (True, "true")  # some providers send a string
    return email if is_verified and isinstance(email, str) else ""


def _keep_printable(name: str) -> str:
    """Return the printable characters of a name, without surrounding spaces, cut to ``MAX_NAME_CHARACTERS``."""
    return "".join(character for character in name if character.isprintable()).strip()[:MAX_NAME_CHARACTERS]
