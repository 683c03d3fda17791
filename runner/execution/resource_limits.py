"""The resource limits of a measured process, which the launcher sets: the same on every host that allows them."""

import resource
from collections.abc import Mapping

UNLIMITED = resource.RLIM_INFINITY
_STANDARD_LIMITS: Mapping[str, tuple[int, int, int]] = {
    "nofile": (resource.RLIMIT_NOFILE, 1024, 524_288),
    "memlock": (resource.RLIMIT_MEMLOCK, 8 << 20, 8 << 20),
    "data": (resource.RLIMIT_DATA, UNLIMITED, UNLIMITED),
    "as": (resource.RLIMIT_AS, UNLIMITED, UNLIMITED),
    "rss": (resource.RLIMIT_RSS, UNLIMITED, UNLIMITED),
}
"""By name: its ``RLIMIT`` constant, its soft and its hard value, which are systemd's defaults, as for most programs.

Limits change fault counts: programs allocate tables with an entry for each descriptor that they may open, choose how
to allocate memory by a limit, and close all possible descriptors before they start another program.
"""


def get_program_limits() -> dict[str, tuple[int, int, int]]:
    """Return the resource limits of programs on this host: the standard limits, or the runner's own if lower.

    By name: its ``RLIMIT`` constant, its soft and its hard value.
    """
    return {
        name: (number, *_clamp_limit(number, soft, hard)) for name, (number, soft, hard) in _STANDARD_LIMITS.items()
    }


def format_limits() -> str:
    """Return the limits as the value of a setting."""
    return " ".join(
        f"{name}={_format_limit(soft)}:{_format_limit(hard)}" for name, (_, soft, hard) in get_program_limits().items()
    )


def _clamp_limit(number: int, soft: int, hard: int) -> tuple[int, int]:
    """Return the soft and the hard limit, lowered to what this process may set."""
    _, own_hard = resource.getrlimit(number)
    new_hard = _choose_lower(hard, own_hard)
    return _choose_lower(soft, new_hard), new_hard


def _choose_lower(limit: int, other_limit: int) -> int:
    """Return the lower of two limits. ``UNLIMITED`` counts as the highest, although it may be a negative number."""
    if limit == UNLIMITED:
        return other_limit
    if other_limit == UNLIMITED:
        return limit
    return min(limit, other_limit)


def _format_limit(value: int) -> str:
    return "unlimited" if value == UNLIMITED else str(value)
