"""What the doctor says of one thing."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Measuring works, but some number is worse for it, or missing."""
    PROBLEM = "problem"
    """Nothing can be measured here, or what is measured would be wrong."""
    UNKNOWN = "unknown"
    """This host does not tell."""


class Verdict(NamedTuple):
    """What was found, and what to do about it."""

    status: Status
    finding: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict with the name of what was looked at. The name is stable: programs may rely on it."""

    name: str
    status: Status
    finding: str
    remedy: str = ""

    def document(self) -> dict[str, str]:
        """Return this check as it stands in JSON."""
        return asdict(self)


def ok(finding: str) -> Verdict:
    """Nothing to do."""
    return Verdict(Status.OK, finding)


def warning(finding: str, remedy: str) -> Verdict:
    """Measuring works, but not as well as it could."""
    return Verdict(Status.WARNING, finding, remedy)


def problem(finding: str, remedy: str) -> Verdict:
    """Nothing can be measured here, or not rightly."""
    return Verdict(Status.PROBLEM, finding, remedy)


def unknown(finding: str, remedy: str = "") -> Verdict:
    """It cannot be found out."""
    return Verdict(Status.UNKNOWN, finding, remedy)
