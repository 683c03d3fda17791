"""Names an environment by the few settings by which people know it: kernel, C library, huge pages."""

from __future__ import annotations

from collections.abc import Mapping

from runner.contract.number_text import format_amount

_USUAL_PAGE = "4096"
_MAX_CHARACTERS = 40
"""Maximum number of characters of a value, because a host may give its kernel any name."""
_MAX_NUMBER_DIGITS = 12
"""A page size with more digits is invalid, and is not named."""


def name_environment(settings: Mapping[str, str]) -> str:
    """Return a name such as ``Linux 6.1.0-18-amd64, glibc 2.36, huge pages madvise``; empty if nothing is known.

    Settings that most hosts share are named only if they differ: an allocator other than the C library's, and a page
    size other than 4 KiB.
    """
    libc = _shorten(settings.get("libc.version", "").partition(" (")[0])
    allocator = _shorten(settings.get("allocator", ""))
    parts = [
        _format_part("Linux", settings.get("kernel.release")),
        libc,
        allocator if allocator != libc else "",
        _format_part("huge pages", _find_huge_pages(settings)),
        _name_page_size(settings.get("memory.page_size", _USUAL_PAGE)),
    ]
    return ", ".join(filter(None, parts))


def _find_huge_pages(settings: Mapping[str, str]) -> str | None:
    """Return the huge page policy of the process, or else that of the host; None if the host's is unknown."""
    process_policy = settings.get("process.huge_pages", "host")
    return settings.get("thp.enabled") if process_policy == "host" else process_policy


def _format_part(title: str, value: str | None) -> str:
    return f"{title} {_shorten(value)}" if value else ""


def _name_page_size(size: str) -> str:
    """Return a page size in words; empty for the usual one, and for a text that is no page size."""
    is_number = size.isdecimal() and len(size) <= _MAX_NUMBER_DIGITS
    return f"pages of {format_amount(int(size))}" if is_number and size != _USUAL_PAGE else ""


def _shorten(value: str) -> str:
    return value if len(value) <= _MAX_CHARACTERS else f"{value[: _MAX_CHARACTERS - 1]}…"
