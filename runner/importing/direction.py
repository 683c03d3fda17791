"""Decides which direction of an imported metric is an improvement: by the options, else by the file, else by the unit.

Without a known direction, a metric is stored and listed, but not judged.
"""

import re
from collections.abc import Iterable

from runner.contract.imported_metric import Better
from runner.errors import FaultwatchError
from runner.importing.imported_result import Result
from runner.importing.imported_run import ImportDefaults
from runner.importing.units import NANOSECONDS

_SIZES = re.compile(r"(?:[kmgt]i?)?(?:b|bytes?)", re.IGNORECASE)
_PER_SECOND = re.compile(r".+(?:/|\bper\s*|_per_)(?:s|sec|seconds?)", re.IGNORECASE)
_PER_OPERATION = re.compile(r".+/(?:op|iter|iteration|call)", re.IGNORECASE)


def parse_directions(texts: Iterable[str]) -> dict[str, Better]:
    """Parse every ``--better METRIC=lower|higher``; return the direction of each metric.

    Raises
    ------
    FaultwatchError
        A text does not have this form.
    """
    directions: dict[str, Better] = {}
    for text in texts:
        name, _, direction = text.rpartition("=")
        if not name or direction not in {"lower", "higher"}:
            raise FaultwatchError(
                f"--better: {text!r} does not have the form METRIC=lower or METRIC=higher", "for example score=higher"
            )
        directions[name] = "higher" if direction == "higher" else "lower"
    return directions


def choose_direction(result: Result, defaults: ImportDefaults) -> Better | None:
    """Return the direction that the options give for a metric, else the one that its format read; None if unknown."""
    return defaults.better.get(result.metric, result.better)


def find_direction(unit: str) -> Better | None:
    """Return which direction is an improvement for a unit: lower for a time, a size or a cost, higher for a rate.

    None if the unit does not say.
    """
    text = unit.strip()
    if _PER_SECOND.fullmatch(text) or re.match(r"(?:ops|iter|iterations|items)/", text):
        return "higher"
    if text in NANOSECONDS or _SIZES.fullmatch(text) or _PER_OPERATION.fullmatch(text):
        return "lower"
    return None
