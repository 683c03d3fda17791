"""Parses and formats lists of processors in the kernel's notation."""

import re

from runner.errors import FaultwatchError


def parse_cpus(text: str) -> frozenset[int]:
    """Parse a list of processors such as ``0-3,8``.

    Raises
    ------
    FaultwatchError
        The text is not such a list.
    """
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", text):
        raise FaultwatchError(f"{text!r} is not a list of processors", "write it like this: 0-3,8")
    cpus: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        cpus_of_part = range(int(first), int(last or first) + 1)
        if not cpus_of_part:
            raise FaultwatchError(f"{part!r} contains no processor", "write the smaller number first: 0-3")
        cpus.update(cpus_of_part)
    return frozenset(cpus)


def format_cpus(cpus: frozenset[int] | set[int]) -> str:
    """Format a list of processors as the kernel does, so that it can be compared with the kernel's."""
    starts = sorted(cpu for cpu in cpus if cpu - 1 not in cpus)
    ends = sorted(cpu for cpu in cpus if cpu + 1 not in cpus)
    return ",".join(
        f"{first}" if first == last else f"{first}-{last}" for first, last in zip(starts, ends, strict=True)
    )
