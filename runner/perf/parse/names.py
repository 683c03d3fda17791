"""Parses perf's event names and maps them to the metric catalogue."""

import re

from msgspec import Struct

from runner.contract.metrics import CATALOGUE
from runner.perf.parse.lines import Line

_ALIASES = {
    "faults": "page-faults",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
    "cpu-cycles": "cycles",
    "duration_time": "elapsed",
    "user_time": "user-time",
    "system_time": "sys-time",
}
OWN_CLOCKS = frozenset({"elapsed", "user-time", "sys-time"})
"""Pseudo-events for times that perf reads from its own clocks, in nanoseconds."""
CPU_CLOCKS = frozenset({"task-clock", "cpu-clock"})

_PLAIN = r"[A-Za-z_][A-Za-z0-9_.-]*"
_LETTERS = "ukhHGIpPSDWebR"
_MODIFIERS = f"[{_LETTERS}]*"
_TRACEPOINT = re.compile(r"\w+:[\w*?.-]+", re.ASCII)
_EVENT = re.compile(
    rf"(?:(?:{_PLAIN}|{_TRACEPOINT.pattern})(?::[A-Za-z]*)?|{_PLAIN}/[\w=,.:@-]+/(?::?[{_LETTERS}]+)?)(?: \[\w+\])?",
    re.ASCII,
)
"""A plain name, a tracepoint (``group:name``) or a PMU with its terms; each may have modifiers."""
_EVENT_WITH_MODIFIERS = re.compile(rf"(?P<term>.+?):(?P<modifiers>{_MODIFIERS})")
_EVENT_ON_PMU = (
    re.compile(rf"(?P<pmu>{_PLAIN})/(?P<term>[^/]+)/:?(?P<modifiers>{_MODIFIERS})"),
    re.compile(r"(?P<term>\S+)(?P<modifiers>) \[(?P<pmu>\w+)\]"),
)
_CORE_PMU = re.compile(r"cpu|cpu_[a-z0-9]+|armv[789]\w*|apple_\w+|software|tool")
"""PMUs of the cores and of the kernel itself: their names say where an event was counted, not which event it is."""


class Name(Struct, frozen=True):
    """The parts of an event's name.

    Attributes
    ----------
    metric
        The name of the metric in the catalogue, or perf's name if the catalogue lacks it.
    pmu
        The PMU in the name if it is one of the cores; otherwise empty.
    user_only
        Whether the event was counted in user space only. Never true for a clock, which always includes the kernel.
    """

    metric: str
    pmu: str
    user_only: bool


def read_name(line: Line, event: str) -> Name:
    """Parse an event's name: ``cpu_core/instructions/u`` is ``instructions`` on ``cpu_core`` in user space.

    Raises
    ------
    PerfOutputError
        It is not a name, or its modifiers are unknown or exclude the program's own code.
    """
    # If there is a unit instead of a name, the fields are shifted.
    if not _EVENT.fullmatch(event) or event in {"ns", "msec"}:
        raise line.make_error(f"{event!r} is not a valid event name")
    term, pmu, modifiers = _strip_pmu(event)
    match = _EVENT_WITH_MODIFIERS.fullmatch(term)
    if match:
        term, modifiers = match["term"], modifiers + match["modifiers"]
        if not match["modifiers"]:
            raise line.make_error(f"{event!r} ends with a colon")
    elif ":" in term and (not _TRACEPOINT.fullmatch(term) or _is_in_catalogue(term.partition(":")[0])):
        raise line.make_error(f"{event!r} has an unknown modifier")
    _refuse_partial_count(line, event, frozenset(modifiers))
    metric = _ALIASES.get(term, term)
    user_only = "u" in modifiers and "k" not in modifiers and metric not in OWN_CLOCKS | CPU_CLOCKS
    return Name(metric, pmu, user_only)


def _is_in_catalogue(event: str) -> bool:
    return _ALIASES.get(event, event) in CATALOGUE


def _strip_pmu(event: str) -> tuple[str, str, str]:
    """Return the event without its PMU, the PMU, and the modifiers that follow it.

    Only PMUs of the cores are removed, and only from plain names: a raw code has a different meaning on each PMU.
    """
    for pattern in _EVENT_ON_PMU:
        match = pattern.fullmatch(event)
        if match is None:
            continue
        if _CORE_PMU.fullmatch(match["pmu"]) and re.fullmatch(_PLAIN, match["term"].partition(":")[0]):
            return match["term"], match["pmu"], match["modifiers"]
        return event.removesuffix(match["modifiers"]), "", match["modifiers"]
    return event, "", ""


def _refuse_partial_count(line: Line, event: str, modifiers: frozenset[str]) -> None:
    """Raise if the modifiers exclude the program's own code from the count."""
    if "u" not in modifiers and modifiers & {"k", "h"}:
        raise line.make_error(
            f"{event!r} was counted only in the kernel, so the count does not include the program itself"
        )
    if "G" in modifiers and "H" not in modifiers:
        raise line.make_error(f"{event!r} was counted in virtual machines only")
