"""Writes changes of settings with their values, as ``kernel 5.15 → 6.1``, alike on the map, in charts and headlines."""

from __future__ import annotations

from collections.abc import Sequence

from service.schemas.history import SettingChange

_UPGRADE_SETTINGS = ("kernel.release", "libc.version", "memory.page_size", "thp.enabled")
"""Settings that name an upgrade best: others follow them, as the processor features that a kernel shows."""
_MAX_VALUE = 24
"""Characters of a value in a line."""


def describe_setting_changes(settings: Sequence[SettingChange]) -> str:
    """Return the most telling setting with its values, and how many others changed."""
    if not settings:
        return "environment"
    most_telling, *others = rank_setting_changes(settings)
    return describe_setting_change(most_telling) + (f" and {len(others):,} more" if others else "")


def rank_setting_changes(settings: Sequence[SettingChange]) -> list[SettingChange]:
    """Return changes of settings, those first that name an upgrade best."""
    return sorted(
        settings,
        key=lambda change: (
            _UPGRADE_SETTINGS.index(change.name) if change.name in _UPGRADE_SETTINGS else len(_UPGRADE_SETTINGS)
        ),
    )


def weigh_setting_changes(settings: Sequence[SettingChange]) -> float:
    """Return how much changes of settings tell: more than one for an upgrade, else more the more of them there are."""
    upgraded = any(change.name in _UPGRADE_SETTINGS for change in settings)
    return upgraded + len(settings) / (1 + len(settings))


def describe_setting_change(change: SettingChange) -> str:
    """Return one change of a setting: ``kernel 5.15 → 6.1``, ``THREADS not set → 4``."""
    name = change.name.removeprefix("variable.").removesuffix(".release")
    before, after = _shorten_value(change.before), _shorten_value(change.after)
    return f"{name} {before} → {after}" if before != after else f"{name} changed"


def _shorten_value(value: str | None) -> str:
    """Return a value in a few characters: of a path its end, which tells files apart."""
    text = "not set" if value is None else value or "empty"
    if len(text) <= _MAX_VALUE:
        return text
    return f"…{text[1 - _MAX_VALUE :]}" if text.startswith("/") else f"{text[: _MAX_VALUE - 1]}…"
