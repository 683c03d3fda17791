"""What a profile says about the cause: named pathologies with their evidence and a remedy."""

from typing import Annotated

from pydantic import Field, StringConstraints

from runner.contract.base import Name, Strict
from runner.contract.profile import Profile

Line = Annotated[str, StringConstraints(max_length=1000)]


class DiagnosisRequest(Strict):
    """A profile, and that of the state before a change where there is one."""

    profile: Profile
    before: Profile | None = None


class Remedy(Strict):
    """What can be done about it."""

    text: Line
    settings: dict[Name, Line] = Field(default_factory=dict)
    """What ``faultwatch try`` can set to see whether it helps; empty where the program itself has to change."""


class Finding(Strict):
    """One pathology that the evidence speaks for."""

    rule: Name
    title: Line
    evidence: tuple[Line, ...]
    """Measured facts, the heaviest first."""
    remedies: tuple[Remedy, ...]
    report: Line
    """Where it was met before."""
    weight: float = Field(ge=0, allow_inf_nan=False)
    """By how much it matters here; the findings are in the order of it."""


class Diagnosis(Strict):
    """All that holds, the weightiest first. Where no rule fits, there is the evidence alone."""

    findings: tuple[Finding, ...]
    evidence: tuple[Line, ...]
    """What was looked at, whatever came of it."""
