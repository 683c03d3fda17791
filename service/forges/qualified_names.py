"""Names of repositories and events with a prefix for their forge: ``gitlab:group/parser``; GitHub has no prefix.

The database and the actions of webhooks use these names, so that repositories of the same name on two forges differ.
No forge allows a colon in a path.
"""

from __future__ import annotations

from runner.contract.gate import ForgeKind


def qualify_name(forge: ForgeKind, name: str) -> str:
    """Return a name with its forge."""
    return name if forge is ForgeKind.GITHUB else f"{forge}:{name}"


def split_name(name: str) -> tuple[ForgeKind, str]:
    """Return the forge, and the name on that forge.

    Raises
    ------
    ValueError
        If there is no such forge.
    """
    forge, colon, name_there = name.partition(":")
    return (ForgeKind(forge), name_there) if colon else (ForgeKind.GITHUB, name)
