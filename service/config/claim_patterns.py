"""Compares the claims of an identity with the patterns in the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def matches_workflow(reference: str, pattern: str) -> bool:
    """Return whether a workflow (``owner/name/.github/workflows/FILE@REF``) matches a pattern.

    ``*`` matches a part of one name, but neither ``/`` nor ``@``. If ``*`` is the whole REF, or if the pattern has no
    REF, it matches any REF.
    """
    path, _, ref = pattern.partition("@")
    wanted_ref = "[^@]*" if ref in {"", "*"} else _convert_pattern_to_regex(ref)
    return bool(re.fullmatch(f"{_convert_pattern_to_regex(path)}@{wanted_ref}", reference))


def matches_repository(claims: Mapping[str, Any], pattern: str) -> bool:
    """Return whether the repository of an identity matches a pattern in lower case, ``owner/name`` or ``owner/*``.

    A number after the pattern, as in ``owner/name:123`` or ``owner/*:45``, is GitHub's id of the repository or of the
    owner. Unlike a name, an id is never reused after a deletion.
    """
    name_pattern, _, number = pattern.partition(":")
    owner, _, name = name_pattern.partition("/")
    repository = str(claims.get("repository", "")).lower()
    if name != "*":
        return repository == name_pattern and number in {"", str(claims.get("repository_id", ""))}
    return repository.startswith(f"{owner}/") and number in {"", str(claims.get("repository_owner_id", ""))}


def _convert_pattern_to_regex(pattern: str) -> str:
    """Return a pattern as a regular expression, in which ``*`` matches any text without ``/`` and ``@``."""
    return "[^@/]*".join(map(re.escape, pattern.split("*")))
