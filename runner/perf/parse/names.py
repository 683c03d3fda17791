"""What perf calls an event, and what the metric catalogue calls it."""

import re
from dataclasses import dataclass

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
CLOCKS = frozenset({"elapsed", "user-time", "sys-time"})
"""Metrics that perf reads from a clock of its own, not from a counter of the kernel."""

_MODIFIERS = "[ukhHGIpPSDWebR]+"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_CORE_PMU = re.compile(r"cpu(_[a-z0-9]+)?|armv[789]\w*|apple_\w+|software|tool")
"""PMUs that count on the cores: their name says where an event was counted, not what it is."""
_IN_PMU = re.compile(r"(?P<pmu>[A-Za-z][A-Za-z0-9_.-]*)/(?P<term>[^/]+)/(?P<modifiers>.*)")
_BESIDE_PMU = re.compile(r"(?P<term>\S+) \[(?P<pmu>\w+)\]")
_NAME = re.compile(r"[!-~]+( \[\w+\])?")


@dataclass(frozen=True, slots=True)
class Name:
    """An event's name taken apart.

    Attributes
    ----------
    metric
        As the catalogue calls it, or as perf does where the catalogue does not know it.
    pmu
        The PMU that perf names beside it, where that is one of the cores'; otherwise empty.
    user_only
        The event was counted in user space only.
    """

    metric: str
    pmu: str = ""
    user_only: bool = False


def read_name(line: Line, event: str) -> Name:
    """Take an event's name apart: ``cpu_core/instructions/u`` is ``instructions`` on ``cpu_core`` in user space."""
    if not _NAME.fullmatch(event):
        raise line.error(f"{event!r} is not the name of an event")
    pmu, term, modifiers = _split(event)
    plain, colon, more = term.rpartition(":")
    if colon and (re.fullmatch(_MODIFIERS, more) or _ALIASES.get(plain, plain) in CATALOGUE):
        term, modifiers = plain, modifiers + more
        if not more:
            raise line.error(f"{event!r} ends with a colon")
    if "G" in modifiers and "H" not in modifiers:
        raise line.error(f"{event!r} was counted in guests only")
    if not re.fullmatch(f"({_MODIFIERS})?", modifiers):
        raise line.error(f"{event!r} has a modifier that perf does not know")
    if set("kh") & set(modifiers) and "u" not in modifiers:
        raise line.error(f"{event!r} was counted in the kernel only, so it leaves out the program itself")
    user_only = "u" in modifiers and "k" not in modifiers
    return Name(_ALIASES.get(term, term), pmu, user_only)


def _split(event: str) -> tuple[str, str, str]:
    """Split into PMU, event and modifiers. Only the cores' PMUs are split off, and only from a plain event."""
    for pattern in (_IN_PMU, _BESIDE_PMU):
        match = pattern.fullmatch(event)
        if match is None:
            continue
        pmu, term = match["pmu"], match["term"]
        modifiers = match.groupdict().get("modifiers") or ""
        if _CORE_PMU.fullmatch(pmu) and _PLAIN.fullmatch(term.partition(":")[0]):
            return pmu, term, modifiers
        return "", event.removesuffix(modifiers) if modifiers else event, modifiers
    return "", event, ""
