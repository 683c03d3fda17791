"""Metrics that another tool measured: their names state the unit and which direction is an improvement.

The catalogue cannot list the metrics of other tools, so a report describes such a metric by its name alone:
``import:higher:MB/s:throughput``. Wherever a metric is judged or shown, :func:`runner.contract.metrics.metric` derives
the rest from the name.
"""

from typing import Literal

from runner.contract.metric import Kind, Metric

IMPORT_PREFIX = "import:"
Better = Literal["lower", "higher"]
_KIND_BY_UNIT = {"ns": Kind.TIME, "s": Kind.TIME, "ns/op": Kind.TIME, "bytes": Kind.SIZE, "B/op": Kind.SIZE}


def name_imported_metric(title: str, unit: str, better: Better) -> str:
    """Return the name of a metric that another tool measured, of at most 200 characters."""
    # The prefix, the direction and the colons need less than the 40 characters that remain.
    unit, title = _keep_printable(unit, 40).replace(":", "-"), _keep_printable(title, 120) or "value"
    return f"{IMPORT_PREFIX}{better}:{unit}:{title}"


def find_imported_metric(name: str) -> Metric | None:
    """Return the metric that a name describes, or None if it is not the name of an imported metric."""
    prefix, better, unit, title = [*name.split(":", 3), "", "", ""][:4]
    if f"{prefix}:" != IMPORT_PREFIX or not title:
        return None
    direction: Better = "higher" if better == "higher" else "lower"
    is_rate = unit.endswith(("/s", "/sec"))
    kind = _KIND_BY_UNIT.get(unit) or (Kind.RATE if is_rate else Kind.RATIO)
    definition = "Measured by another tool and imported. Judged by the rules for noisy metrics."
    return Metric(name, title, unit, kind, direction, False, definition)


def _keep_printable(text: str, max_characters: int) -> str:
    """Return the printable characters of a text from a file, at most ``max_characters``."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:max_characters]
