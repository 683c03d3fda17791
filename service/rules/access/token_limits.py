"""Defines the limits of a token: its hosts, its subjects and its repositories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from service.rules.access.scope import Scope

Patterns = tuple[str, ...]
_NAME = re.compile(r"[A-Za-z0-9_.*-]{1,100}")
_NAME_ADVICE = "use 1 to 100 characters: letters, digits or _ . - *"
_REPOSITORY = re.compile(r"(?:[a-z]+:)?[A-Za-z0-9_.*-]{1,100}(?:/[A-Za-z0-9_.*-]{1,100})+")
_MAX_QUOTED_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class TokenLimits:
    """The limits of a token. ``*`` in a pattern stands for any part of a name; None is no limit.

    Attributes
    ----------
    hosts
        The hosts under whose names the token may report and claim jobs, and for which it may order and change jobs.
    subjects
        The subjects about which it may report, and for which it may order and change jobs.
    repositories
        The repositories for which it may register runners, about which it may publish, and in which it may start
        workflows; for forges other than GitHub with the forge, as in ``gitlab:group/parser``.
    """

    hosts: Patterns | None = None
    subjects: Patterns | None = None
    repositories: Patterns | None = None

    def may_publish_about(self, repository: str) -> bool:
        """Return whether the token may publish about a repository.

        A token without any limit may publish about all of them. A token with any other limit, such as on its hosts, may
        publish only for the repositories that it names.
        """
        return self == NO_LIMITS or (
            self.repositories is not None and matches_any_pattern(repository, self.repositories)
        )

    def explain_objection(self, scopes: Iterable[Scope]) -> str:
        """Return in one line why these limits are not valid with these scopes; empty if they are."""
        scopes = set(scopes)
        if Scope.ADMIN in scopes and self != TokenLimits():
            return "a token with the scope admin cannot have limits"
        if Scope.REGISTER in scopes and not self.repositories:
            return "a token with the scope register must name its repositories: owner/name, owner/*, or */* for all"
        for title, patterns, syntax, advice in (
            ("host", self.hosts, _NAME, _NAME_ADVICE),
            ("subject", self.subjects, _NAME, _NAME_ADVICE),
            ("repository", self.repositories, _REPOSITORY, "write owner/name, owner/* or gitlab:group/name"),
        ):
            invalid_pattern = next((pattern for pattern in patterns or () if not syntax.fullmatch(pattern)), None)
            if invalid_pattern is not None:
                return f"{invalid_pattern[:_MAX_QUOTED_CHARACTERS]!r} is not a valid pattern for a {title}: {advice}"
        return ""


NO_LIMITS = TokenLimits()
"""No limits, which old tokens, admins, and all callers of a service that requires no tokens have."""


def matches_any_pattern(name: str, patterns: Patterns | None) -> bool:
    """Return whether a name matches one of the patterns; patterns that are None match every name.

    The comparison is case-insensitive, like GitHub's.
    """
    return patterns is None or any(
        re.fullmatch("[^/]*".join(map(re.escape, pattern.lower().split("*"))), name.lower()) for pattern in patterns
    )
