"""Compares what an identity claims with what the settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def matches_workflow(reference: str, pattern: str) -> bool:
    """Whether a workflow (``owner/name/.github/workflows/FILE@REF``) fits a pattern.

    ``*`` stands for a part of one name: it spans neither ``/`` nor ``@``. As the whole REF it stands for any REF, and
    a pattern without REF fits any too.
    """
    path, _, ref = pattern.partition("@")
    wanted_ref = "[^@]*" if ref in {"", "*"} else _convert_to_regex(ref)
    return bool(re.fullmatch(f"{_convert_to_regex(path)}@{wanted_ref}", reference))


def matches_repository(claims: Mapping[str, Any], pattern: str) -> bool:
    """Return whether the repository of an identity fits ``owner/name`` or ``owner/*``, a pattern in lower case.

    A number after it, as in ``owner/name:123`` or ``owner/*:45``, is GitHub's id of the repository or of the owner: a
    name can be given to another repository after a deletion, an id cannot.
    """
    name_pattern, _, number = pattern.partition(":")
    owner, _, name = name_pattern.partition("/")
    repository = str(claims.get("repository", "")).lower()
    if name != "*":
        return repository == name_pattern and number in {"", str(claims.get("repository_id", ""))}
    return repository.startswith(f"{owner}/") and number in {"", str(claims.get("repository_owner_id", ""))}


def _convert_to_regex(pattern: str) -> str:
    return "[^@/]*".join(map(re.escape, pattern.split("*")))
