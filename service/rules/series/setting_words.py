"""Formats changes of settings, such as ``kernel 5.15 → 6.1``, in the same way for the map, charts and headlines."""

from __future__ import annotations

from collections.abc import Sequence

from service.schemas.history import SettingChange

_UPGRADE_SETTINGS = ("kernel.release", "libc.version", "memory.page_size", "thp.enabled")
"""Settings that best name an upgrade, because other settings depend on them: the kernel, for example, determines which
processor features it reports."""
_MAX_VALUE_CHARACTERS = 24
"""Maximum number of characters of a value."""


def describe_setting_changes(settings: Sequence[SettingChange]) -> str:
    """Return the most informative change of a setting in words, and how many other settings changed."""
    if not settings:
        return "environment"
    most_telling, *other_settings = rank_setting_changes(settings)
    return describe_setting_change(most_telling) + (f" and {len(other_settings):,} more" if other_settings else "")


def rank_setting_changes(settings: Sequence[SettingChange]) -> list[SettingChange]:
    """Return changes of settings, with the settings that best name an upgrade first."""
    return sorted(
        settings,
        key=lambda change: (
            _UPGRADE_SETTINGS.index(change.name) if change.name in _UPGRADE_SETTINGS else len(_UPGRADE_SETTINGS)
        ),
    )


def weigh_setting_changes(settings: Sequence[SettingChange]) -> float:
    """Return a weight for changes of settings: above 1 for an upgrade, otherwise below; it grows with their number."""
    is_upgrade = any(change.name in _UPGRADE_SETTINGS for change in settings)
    return is_upgrade + len(settings) / (1 + len(settings))


def describe_setting_change(change: SettingChange) -> str:
    """Return a change of a setting in words: ``kernel 5.15 → 6.1``, ``THREADS not set → 4``."""
    name = change.name.removeprefix("variable.").removesuffix(".release")
    before, after = _shorten_value(change.before), _shorten_value(change.after)
    return f"{name} {before} → {after}" if before != after else f"{name} changed"


def _shorten_value(value: str | None) -> str:
    """Return a value, shortened if it is long: of a path, the end is kept, because it distinguishes files."""
    text = "not set" if value is None else value or "empty"
    if len(text) <= _MAX_VALUE_CHARACTERS:
        return text
    return f"…{text[1 - _MAX_VALUE_CHARACTERS :]}" if text.startswith("/") else f"{text[: _MAX_VALUE_CHARACTERS - 1]}…"
