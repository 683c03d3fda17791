"""Parses ``NAME=VALUE`` arguments."""

import re
from collections.abc import Iterable

from runner.errors import FaultwatchError


def parse_assignments(option: str, assignments: Iterable[str], name_pattern: str) -> dict[str, str]:
    """Parse ``NAME=VALUE`` arguments of an option; names must match ``name_pattern``, and of equal names the last wins.

    Raises
    ------
    FaultwatchError
        An argument does not have this form, its name is not valid, or it is not text.
    """
    values = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not name or not equals or "\0" in value:
            raise FaultwatchError(f"{option} {assignment!r} does not have the form NAME=VALUE")
        if not re.fullmatch(name_pattern, name, re.DOTALL):
            raise FaultwatchError(
                f"{option} {assignment!r}: {name!r} is not a valid name",
                "a name consists of letters, digits and underscores, and does not begin with a digit",
            )
        try:
            assignment.encode()
        except UnicodeEncodeError:
            raise FaultwatchError(f"{option} {assignment!r} is not valid UTF-8, so no report can contain it") from None
        values[name] = value
    return values
