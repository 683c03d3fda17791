"""Decides which settings a job may set for a run; all others are set only by the administrator of a host."""

from __future__ import annotations

import re

from service.rules.jobs.job_variables import may_be_set

PARAMETER = "parameter."
VARIABLE = "variable."
PRELOAD = "variable.LD_PRELOAD"
HUGE_PAGES = "process.huge_pages"
MEMORY_LIMIT = "process.memory_limit"
POLICIES = ("never", "madvise", "always")
NO_LIMIT = "none"
_NAME = re.compile(r"(?:variable\.[A-Za-z_][A-Za-z0-9_]{0,90}|parameter\.[A-Za-z0-9][A-Za-z0-9_.-]{0,80})")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.,:+-]{1,200}")
_BYTE_COUNT = re.compile(r"[1-9][0-9]{0,18}")
"""A number of bytes as an environment contains it. The kernel accepts no larger limit."""


def is_per_run(name: str) -> bool:
    """Return whether a job can set a setting for a single run, rather than only the administrator of the host."""
    return name in {HUGE_PAGES, MEMORY_LIMIT} or name.startswith((PARAMETER, VARIABLE))


def explain_objection(name: str, value: str | None) -> str:
    """Return why no job may set a setting to a value; empty if jobs may.

    A report or link from an attacker can fill in the names and values of an order. A person who submits it must not
    load the attacker's library on a host.
    """
    has_fixed_name = name in {HUGE_PAGES, MEMORY_LIMIT}
    if not is_per_run(name) or not (has_fixed_name or _NAME.fullmatch(name)):
        return f"{name} belongs to the host: only the host's administrator can set it"
    if name == HUGE_PAGES:
        return "" if value in POLICIES else f"the huge page policy must be one of {', '.join(POLICIES)}"
    if name == MEMORY_LIMIT:
        return (
            ""
            if value == NO_LIMIT or (value is not None and _BYTE_COUNT.fullmatch(value))
            else f"a memory limit must be a number of bytes, or `{NO_LIMIT}`"
        )
    if name.startswith(PARAMETER):
        is_plain = value is not None and _PLAIN_VALUE.fullmatch(value)
        allowed_values = "1 to 200 characters: letters, digits or _ . , : + -"
        return "" if is_plain else f"the value of {name.removeprefix(PARAMETER)} must be {allowed_values}"
    variable = name.removeprefix(VARIABLE)
    if value is None or may_be_set(variable, value):
        return ""
    return (
        f"{variable} is not a tuning variable of an allocator or a runtime, or its value is a path: order the job "
        "through the API instead"
    )
