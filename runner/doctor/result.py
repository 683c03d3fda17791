"""What the doctor says of one thing."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple


class CheckStatus(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Measuring works, but some number is worse for it, or missing."""
    PROBLEM = "problem"
    """Nothing can be measured here, or what is measured would be wrong."""
    UNKNOWN = "unknown"
    """This host does not tell."""


class CheckResult(NamedTuple):
    """What was found, and what to do about it."""

    status: CheckStatus
    finding: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A verdict with the name of what was looked at. The name is stable: programs may rely on it."""

    name: str
    status: CheckStatus
    finding: str
    remedy: str = ""

    def document(self) -> dict[str, str]:
        """Return this check as it stands in JSON."""
        return asdict(self)


def ok(finding: str) -> CheckResult:
    """Nothing to do."""
    return CheckResult(CheckStatus.OK, finding)


def warning(finding: str, remedy: str) -> CheckResult:
    """Measuring works, but not as well as it could."""
    return CheckResult(CheckStatus.WARNING, finding, remedy)


def problem(finding: str, remedy: str) -> CheckResult:
    """Nothing can be measured here, or not rightly."""
    return CheckResult(CheckStatus.PROBLEM, finding, remedy)


def unknown(finding: str, remedy: str = "") -> CheckResult:
    """It cannot be found out."""
    return CheckResult(CheckStatus.UNKNOWN, finding, remedy)
