"""Defines what a rule of the diagnosis consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.contract.diagnosis import Finding, Remedy
from service.rules.diagnose.profile_facts import Facts

MIN_SAVING = 0.01
"""The share of the run time that a remedy must be able to save to be worth a finding."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pathology that a profile can show.

    Attributes
    ----------
    name, title
        Its name, and what it is in one line.
    condition
        What must be so for the story to be true. If a fact was not measured, the condition is false.
    max_saving
        The largest share of the run time that the remedies can save, from 0 to 1; None if that was not measured.
    evidence
        The measured facts, most important first.
    remedies
        What to do about it.
    report
        The report in which it was described.
    count
        How much there is of what the rule recognises: a number that repeats, unlike shares of the time; None if the
        condition itself compares with the profile before.
    """

    name: str
    title: str
    condition: Callable[[Facts], bool]
    max_saving: Callable[[Facts], float | None]
    evidence: Callable[[Facts], tuple[str, ...]]
    remedies: Callable[[Facts], tuple[Remedy, ...]]
    report: str
    count: Callable[[Facts], float] | None = None

    def evaluate(self, facts: Facts) -> Finding | None:
        """Return the finding.

        None if the condition is false, or if the remedies could save less than :data:`MIN_SAVING`, or nobody knows.
        """
        if not self.condition(facts):
            return None
        max_saving = self.max_saving(facts)
        if max_saving is None or not max_saving >= MIN_SAVING:
            return None
        return Finding(
            rule=self.name,
            title=self.title,
            evidence=self.evidence(facts),
            remedies=self.remedies(facts),
            report=self.report,
            price=min(1.0, max_saving),
        )
