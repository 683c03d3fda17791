"""Defines the parts of a rule of the diagnosis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from runner.contract.diagnosis import Finding, Remedy
from service.rules.diagnose.fitting_remedies import fit_remedies
from service.rules.diagnose.profile_facts import Facts

MIN_SAVING = 0.01
"""A finding's remedies must be able to save at least this share of the run time."""
_SIGMAS = 2.0
"""A saving that was estimated from samples must exceed :data:`MIN_SAVING` by this many standard deviations."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pathology that a profile can show.

    Attributes
    ----------
    name, title
        The rule's name, and the pathology in one line.
    condition
        Whether the facts show the pathology. If a necessary fact was not measured, the condition is false.
    max_saving
        The largest share of the run time that the remedies can save, from 0 to 1; None if it was not measured.
    evidence
        The measured facts, most important first.
    remedies
        Changes that address the pathology. Those whose settings have no effect in the process are left out.
    report
        A real case in which the pathology was reported.
    count
        The number of faults or calls that the rule recognises, which repeats, unlike shares of the time; None if there
        is none.
    is_comparison
        Whether the condition and the saving themselves compare with the earlier profile, if there is one.
    """

    name: str
    title: str
    condition: Callable[[Facts], bool]
    max_saving: Callable[[Facts], float | None]
    evidence: Callable[[Facts], tuple[str, ...]]
    remedies: Callable[[Facts], tuple[Remedy, ...]]
    report: str
    count: Callable[[Facts], float] | None = None
    is_comparison: bool = False

    def evaluate(self, facts: Facts) -> Finding | None:
        """Return the finding.

        None if the condition is false, or if the remedies may save less than :data:`MIN_SAVING`, or an unknown share.
        """
        if not self.condition(facts):
            return None
        max_saving = self.max_saving(facts)
        if max_saving is None or not _is_worthwhile(max_saving, facts):
            return None
        return Finding(
            rule=self.name,
            title=self.title,
            evidence=self.evidence(facts),
            remedies=fit_remedies(facts, self.remedies(facts)),
            report=self.report,
            price=min(1.0, max_saving),
        )


def _is_worthwhile(saving: float, facts: Facts) -> bool:
    """Return whether a saving is at least :data:`MIN_SAVING`; false if it is NaN.

    A state is judged by this saving alone, so it must not be due to the few samples of CPU time that chance adds. A
    change has been counted, so its saving is only an estimate of its weight.
    """
    on_cpu = facts.profile.on_cpu
    n_samples = on_cpu.samples if on_cpu and facts.before is None else 0
    share = min(1.0, max(0.0, saving))
    # The standard deviation of a share of n samples: that of a binomial distribution.
    error = _SIGMAS * sqrt(share * (1 - share) / n_samples) if n_samples else 0.0
    return saving - error >= MIN_SAVING
