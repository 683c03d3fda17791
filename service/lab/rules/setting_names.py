"""Converts names and values of a lab's settings between what people write and what an environment contains."""

from __future__ import annotations

import re

from runner.contract.allocators import ALLOCATOR_LIBRARIES
from runner.contract.number_text import format_amount
from service.rules.jobs.job_settings import HUGE_PAGES, MEMORY_LIMIT, NO_LIMIT, PARAMETER, PRELOAD, VARIABLE

Value = str | None
"""The value of a setting in an environment; None if it is not set."""
ALLOCATOR = "allocator"
"""The name of the setting for the allocator in an environment, which results from the preloaded library."""
LISTED_SETTINGS = (PRELOAD, HUGE_PAGES, MEMORY_LIMIT)
"""Settings whose values contain neither commas nor spaces."""
_TITLES = {PRELOAD: "Allocator", HUGE_PAGES: "Huge pages", MEMORY_LIMIT: "Memory limit"}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_MAX_LIMIT_DIGITS = 24
"""The number of bytes of a limit with more digits is not converted to a larger unit."""
_SIZE = re.compile(r"([1-9][0-9]{0,14})\s*([KMG]?)(?:iB|B)?", re.IGNORECASE)
_FAMILY = re.compile(r"lib(jemalloc|tcmalloc|mimalloc|snmalloc|hoard|scudo|rpmalloc)")


def format_title(name: str) -> str:
    """Return the name of a setting for human readers."""
    return _TITLES.get(name) or name.removeprefix(VARIABLE).removeprefix(PARAMETER)


def format_value(name: str, value: Value) -> str:
    """Return a value for human readers, such as ``jemalloc``, ``64 MiB`` or ``not set``."""
    if name == PRELOAD:
        if not value:
            return "the C library's"
        family = _FAMILY.search(value)
        return family[1] if family else value
    if name == MEMORY_LIMIT:
        if not value or not value.isdecimal():
            return "no limit"
        return format_amount(int(value)) if len(value) <= _MAX_LIMIT_DIGITS else f"{value} bytes"
    if value is None:
        return "not set"
    return value or "empty"


def find_canonical_name(text: str) -> str:
    """Return the canonical name of a setting that a person wrote, such as a variable without its prefix."""
    aliases = {"allocator": PRELOAD, "thp": HUGE_PAGES, "huge_pages": HUGE_PAGES, "memory_limit": MEMORY_LIMIT}
    if text in aliases:
        return aliases[text]
    return text if "." in text else f"{VARIABLE}{text}"


def read_value(name: str, text: str) -> Value:
    """Return a value that a person wrote, in the form in which an environment contains it; None for an unset variable.

    Raises
    ------
    ValueError
        The text is not a valid value; the message says what to write.
    """
    text = text.strip()
    if name == PRELOAD:
        return None if text in {"", "glibc", "none"} else ALLOCATOR_LIBRARIES.get(text, text)
    if name == MEMORY_LIMIT:
        match = _SIZE.fullmatch(text)
        if match:
            return str(int(match[1]) * _UNITS[match[2].upper()])
        if text in {"", NO_LIMIT}:
            return NO_LIMIT
        raise ValueError(f"{text!r} is not a size: write a size such as 256M, or 'none' for no limit")
    return text or None
