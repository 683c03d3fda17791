"""Formats changes of settings, such as ``kernel 5.15 → 6.1``, in the same way for the map, charts and headlines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

_PAGE_SIZE, _KERNEL = "memory.page_size", "kernel.release"
_UPGRADE_SETTINGS = (_PAGE_SIZE, _KERNEL, "libc.version", "thp.enabled")
"""Settings that best name an upgrade, because other settings depend on them: the kernel, for example, determines which
processor features it reports. A kernel with another page size is first of all another page size."""
_MAX_VALUE_CHARACTERS = 24
"""Maximum number of characters of a value."""
_NUMBER = re.compile(r"\d+")
_MAX_PARTS = 4
"""So many parts of a version are told apart: the kernel 5.15.0-88 has four."""
_FLAVOUR = re.compile(r"-[a-z]\w*$")
"""The end of a kernel's release that names how it was built: ``-generic``, ``-amd64``."""


class SettingChange(Protocol):
    """A setting that differs between two environments; a value is None if that environment has no such setting."""

    @property
    def name(self) -> str:
        """The name of the setting."""

    @property
    def before(self) -> str | None:
        """The value in the older environment."""

    @property
    def after(self) -> str | None:
        """The value in the newer environment."""


AnySettingChange = TypeVar("AnySettingChange", bound=SettingChange)


def describe_setting_changes(settings: Sequence[SettingChange]) -> str:
    """Return the most informative change of a setting in words, and how many other settings changed."""
    if not settings:
        return "environment"
    most_informative, *other_settings = rank_setting_changes(settings)
    return describe_setting_change(most_informative) + (f" and {len(other_settings):,} more" if other_settings else "")


def describe_new_value(settings: Sequence[SettingChange], max_characters: int) -> str:
    """Return the most informative change in at most ``max_characters``, without its old value: ``kernel → 6.1``.

    The new value is kept longest: where there is no room for both, the name is left out.
    """
    if not settings:
        return "environment"
    change = rank_setting_changes(settings)[0]
    name, _before, after = _name_and_values(change)
    text = f"{name} → {_shorten_value(after)}"
    return text if len(text) <= max_characters else f"→ {_shorten_value(after, max_characters - len('→ '))}"


def rank_setting_changes(settings: Sequence[AnySettingChange]) -> list[AnySettingChange]:
    """Return changes of settings, with the settings that best name an upgrade first."""
    return sorted(
        settings,
        key=lambda change: (
            _UPGRADE_SETTINGS.index(change.name) if change.name in _UPGRADE_SETTINGS else len(_UPGRADE_SETTINGS)
        ),
    )


def weigh_setting_changes(settings: Sequence[SettingChange]) -> float:
    """Return a weight for changes of settings: above 1 for an upgrade, otherwise below; it grows with their number.

    Of two upgrades, the one that changes an earlier part of a version weighs more: 5.4 → 5.15 more than 5.4.1 → 5.4.2.
    """
    parts = [_find_changed_part(change) for change in settings if change.name in _UPGRADE_SETTINGS]
    upgrade = 1 + max(0, _MAX_PARTS - min(parts)) if parts else 0
    return upgrade + len(settings) / (1 + len(settings))


def _find_changed_part(change: SettingChange) -> int:
    """Return the first part in which two versions differ, counted from 0."""
    before, after = (_NUMBER.findall(value or "") for value in (change.before, change.after))
    return next((index for index, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), 0)


def describe_setting_change(change: SettingChange) -> str:
    """Return a change of a setting in words: ``kernel 5.15 → 6.1``, ``THREADS not set → 4``."""
    name, *values = _name_and_values(change)
    before, after = map(_shorten_value, values)
    return f"{name} {before} → {after}" if before != after else f"{name} changed"


def _name_and_values(change: SettingChange) -> tuple[str, str | None, str | None]:
    """Return the short name of a setting and its two values, without the flavour of a kernel unless that changed."""
    name = change.name.removeprefix("variable.").removesuffix(".release")
    before, after = change.before, change.after
    if change.name == _KERNEL and before and after:
        flavours = [_FLAVOUR.search(value) for value in (before, after)]
        if all(flavours) and len({flavour.group() for flavour in flavours if flavour}) == 1:
            before, after = _FLAVOUR.sub("", before), _FLAVOUR.sub("", after)
    return name, before, after


def _shorten_value(value: str | None, max_characters: int = _MAX_VALUE_CHARACTERS) -> str:
    """Return a value, shortened if it is long: of a path, the end is kept, because it distinguishes files."""
    text = "not set" if value is None else value or "empty"
    if len(text) <= max_characters:
        return text
    return f"…{text[1 - max_characters :]}" if text.startswith("/") else f"{text[: max_characters - 1]}…"
