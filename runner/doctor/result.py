"""Results of checks."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict


class CheckStatus(StrEnum):
    """The severity of a check's finding."""

    OK = "ok"
    WARNING = "warning"
    """Measuring works, but some numbers are less reliable, or missing."""
    PROBLEM = "problem"
    """Nothing can be measured here, or the results would be wrong."""
    UNKNOWN = "unknown"
    """The check could not be performed."""


class CheckResult(NamedTuple):
    """The result of a check: the finding, and what to do about it."""

    status: CheckStatus
    finding: str
    remedy: str = ""


class Check(Struct, frozen=True):
    """A named result. The name is stable: programs may rely on it."""

    name: str
    status: CheckStatus
    finding: str
    remedy: str = ""

    def build_document(self) -> dict[str, str]:
        """Return this check in the form that ``--json`` prints."""
        return asdict(self)


def make_ok(finding: str) -> CheckResult:
    """Return a result that found nothing wrong."""
    return CheckResult(CheckStatus.OK, finding)


def make_warning(finding: str, remedy: str) -> CheckResult:
    """Return a result for a state that makes measurements less reliable."""
    return CheckResult(CheckStatus.WARNING, finding, remedy)


def make_problem(finding: str, remedy: str) -> CheckResult:
    """Return a result for a state that prevents correct measurements."""
    return CheckResult(CheckStatus.PROBLEM, finding, remedy)


def make_unknown(finding: str, remedy: str = "") -> CheckResult:
    """Return a result for a check that could not be performed."""
    return CheckResult(CheckStatus.UNKNOWN, finding, remedy)
