"""The settings of a lab by name: what a person writes, what an environment shows, and what a job may set."""

from __future__ import annotations

import re

from runner.contract.allocators import ALLOCATOR_LIBRARIES
from service.rules.jobs.job_variables import may_be_set
from service.text.numbers import format_amount

Value = str | None
"""The value of a setting as an environment shows it; None if it is not set."""
PARAMETER = "parameter."
VARIABLE = "variable."
PRELOAD = "variable.LD_PRELOAD"
HUGE_PAGES = "process.huge_pages"
MEMORY_LIMIT = "process.memory_limit"
ALLOCATOR = "allocator"
"""The name of the allocator in an environment; it only follows from what is preloaded."""
LISTED = (PRELOAD, HUGE_PAGES, MEMORY_LIMIT)
"""Settings whose values contain neither commas nor spaces."""
POLICIES = ("never", "madvise", "always")
NO_LIMIT = "none"
_TITLES = {PRELOAD: "Allocator", HUGE_PAGES: "Huge pages", MEMORY_LIMIT: "Memory limit"}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"([1-9][0-9]{0,14})\s*([KMG]?)(?:iB|B)?", re.IGNORECASE)
_NAME = re.compile(r"(?:variable\.[A-Za-z_][A-Za-z0-9_]{0,90}|parameter\.[A-Za-z0-9][A-Za-z0-9_.-]{0,80})")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:+-]{1,200}")
_FAMILY = re.compile(r"lib(jemalloc|tcmalloc|mimalloc|snmalloc|hoard|scudo|rpmalloc)")


def is_per_run(name: str) -> bool:
    """Return whether a job can set a setting for a single run; only an administrator can set the others."""
    return name in {HUGE_PAGES, MEMORY_LIMIT} or name.startswith((PARAMETER, VARIABLE))


def format_title(name: str) -> str:
    """Return the name of a setting for people."""
    return _TITLES.get(name) or name.removeprefix(VARIABLE).removeprefix(PARAMETER)


def format_value(name: str, value: Value) -> str:
    """Write a value for people: ``jemalloc``, ``64 MiB``, ``not set``."""
    if name == PRELOAD:
        family = _FAMILY.search(value) if value else None
        return family[1] if family else value or "the C library's"
    if name == MEMORY_LIMIT:
        return format_amount(int(value)) if value and value.isdecimal() else "no limit"
    return "not set" if value is None else value or "empty"


def find_canonical_name(text: str) -> str:
    """Return the name of a setting that a person wrote: a variable may be named alone, and so may an allocator."""
    aliases = {"allocator": PRELOAD, "thp": HUGE_PAGES, "huge_pages": HUGE_PAGES, "memory_limit": MEMORY_LIMIT}
    if text in aliases:
        return aliases[text]
    return text if "." in text else f"{VARIABLE}{text}"


def read_value(name: str, text: str) -> Value:
    """Return a value that a person wrote as an environment shows it; an empty text takes a variable away.

    Raises
    ------
    ValueError
        It is no such value: says what to write.
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
        raise ValueError(f"{text!r} is not a size: write bytes such as 256M, or none")
    return text or None


def explain_objection(name: str, value: Value) -> str:
    """Return why no job may set a setting to a value; an empty text if one may.

    A caller who may send reports or make a link chooses names and values, so a person's click must not load
    their library.
    """
    if not is_per_run(name) or (name not in {HUGE_PAGES, MEMORY_LIMIT} and not _NAME.fullmatch(name)):
        return f"{name} belongs to the host: only its administrator can set it"
    if name == HUGE_PAGES:
        return "" if value in POLICIES else f"the policy of huge pages is one of {', '.join(POLICIES)}"
    if name == MEMORY_LIMIT:
        return "" if value == NO_LIMIT or (value or "").isdecimal() else "a memory limit is a number of bytes, or none"
    if name.startswith(PARAMETER):
        return (
            ""
            if value is not None and _PLAIN.fullmatch(value)
            else f"{format_title(name)} has a value that no job may set"
        )
    if value is None or may_be_set(name.removeprefix(VARIABLE), value):
        return ""
    return (
        f"{format_title(name)} is not a tunable of an allocator or a runtime, or its value is a path: order it through "
        "the API"
    )
