"""Metrics that another tool measured. Their names contain the unit and the direction of an improvement.

The catalogue cannot list the metrics of other tools, so a report describes such a metric by its name alone:
``import:higher:MB/s:throughput``. Wherever a metric is judged or shown, :func:`runner.contract.metrics.get_metric`
derives the rest from the name.
"""

from typing import Literal

from runner.contract.metric import Kind, Metric

IMPORT_PREFIX = "import:"
Better = Literal["lower", "higher"]
_MAX_UNIT_CHARACTERS, _MAX_TITLE_CHARACTERS = 40, 120
"""Limits that keep names within 200 characters: all other parts of a name need less than 40."""
_KIND_BY_UNIT = {"ns": Kind.TIME, "s": Kind.TIME, "ns/op": Kind.TIME, "bytes": Kind.SIZE, "B/op": Kind.SIZE}


def name_imported_metric(title: str, unit: str, better: Better) -> str:
    """Return the name of a metric that another tool measured, of at most 200 characters."""
    safe_unit = _keep_printable(unit, _MAX_UNIT_CHARACTERS).replace(":", "-")  # colons separate the parts of the name
    safe_title = _keep_printable(title, _MAX_TITLE_CHARACTERS) or "value"
    return f"{IMPORT_PREFIX}{better}:{safe_unit}:{safe_title}"


def find_imported_metric(name: str) -> Metric | None:
    """Return the metric that a name describes, or None if it is not the name of an imported metric."""
    # After the prefix, the name consists of the better direction, the unit and the title.
    parts = name.removeprefix(IMPORT_PREFIX).split(":", 2)
    if not name.startswith(IMPORT_PREFIX) or len(parts) < 3 or not parts[2]:
        return None
    better, unit, title = parts
    direction: Better = "higher" if better == "higher" else "lower"
    is_rate = unit.endswith(("/s", "/sec"))
    kind = _KIND_BY_UNIT.get(unit) or (Kind.RATE if is_rate else Kind.RATIO)
    definition = "Measured by another tool and imported. Judged by the rules for noisy metrics."
    return Metric(name, title, unit, kind, direction, judged=False, definition=definition)


def _keep_printable(text: str, max_characters: int) -> str:
    """Return the printable characters of a text from a file, at most ``max_characters``."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:max_characters]
