"""Defines what a rule of the diagnosis consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runner.contract.diagnosis import Finding, Remedy
from service.rules.diagnose.profile_numbers import Facts

MIN_PRICE = 0.01
"""The share of the time below which no remedy is worth a finding."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pathology that a profile can show.

    Attributes
    ----------
    name, title
        Its name, and what it is in one line.
    condition
        What must be so for the story to be true. Where a fact was not measured, the condition is false.
    price
        The largest share of the time that the remedy can win, from 0 to 1; None if it was not measured.
    evidence
        The measured facts, most important first.
    remedies
        What to do about it.
    report
        The report in which it was described.
    """

    name: str
    title: str
    condition: Callable[[Facts], bool]
    price: Callable[[Facts], float | None]
    evidence: Callable[[Facts], tuple[str, ...]]
    remedies: Callable[[Facts], tuple[Remedy, ...]]
    report: str

    def find(self, facts: Facts) -> Finding | None:
        """Return the finding; None if the condition is false or the remedy can win less than 1 % of the time."""
        if not self.condition(facts):
            return None
        price = self.price(facts)
        if price is None or not price >= MIN_PRICE:
            return None
        return Finding(
            rule=self.name,
            title=self.title,
            evidence=self.evidence(facts),
            remedies=self.remedies(facts),
            report=self.report,
            price=min(1.0, price),
        )
