"""Diagnoses: named pathologies that a profile shows, with evidence and remedies."""

from typing import Annotated

from pydantic import AliasChoices, Field, StringConstraints

from runner.contract.base import Name, Strict
from runner.contract.profile import Profile

Line = Annotated[str, StringConstraints(max_length=1000)]


class DiagnosisRequest(Strict):
    """A profile, and optionally the profile of the state before a change."""

    profile: Profile
    before: Profile | None = None


class Remedy(Strict):
    """A remedy for a pathology."""

    text: Line
    settings: dict[Name, Line] = Field(default_factory=dict)
    """Settings to try with ``faultwatch try``; empty if the program itself must change."""


class Finding(Strict):
    """A pathology supported by evidence."""

    rule: Name
    title: Line
    evidence: tuple[Line, ...]
    """Measured facts, most important first."""
    remedies: tuple[Remedy, ...]
    report: Line
    """The report in which the pathology was described."""
    price: float = Field(ge=0, allow_inf_nan=False, validation_alias=AliasChoices("price", "weight"))
    """The largest share of the run time that the remedies can save. Findings are sorted by price. Stored summaries
    of profiles call the price ``weight``."""


class Diagnosis(Strict):
    """All findings, most important first. If no rule matches, only the evidence."""

    findings: tuple[Finding, ...]
    evidence: tuple[Line, ...]
    """All facts that were examined."""
