"""Defines the parts of a rule of the diagnosis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

from runner.contract.diagnosis import Finding, Remedy
from service.rules.diagnose.fitting_remedies import fit_remedies
from service.rules.diagnose.profile_facts import Facts

MIN_SAVING = 0.01
"""A finding's remedies must be able to save at least this share of the run time."""
_MAX_CHANCE = 0.02
"""So many samples in what the remedies save must be at most this likely if they could only save :data:`MIN_SAVING`."""


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
    change has been counted, so its saving is only an estimate of its weight. With too few samples for costs, the saving
    comes from other measurements, such as the system time.
    """
    if not saving >= MIN_SAVING:
        return False
    on_cpu = facts.profile.on_cpu
    if on_cpu is None or facts.before is not None or not facts.timed:
        return True
    return _bound_chance(min(1.0, saving), on_cpu.samples) <= _MAX_CHANCE


def _bound_chance(share: float, n_samples: int) -> float:
    """Return an upper bound of the probability that at least a share of samples shows what has :data:`MIN_SAVING`.

    This is the bound of Chernoff and Hoeffding for the upper tail of a binomial distribution: exp(-n · D), where D is
    the Kullback-Leibler divergence of the two shares. Unlike a number of standard deviations, it holds for few samples.
    """
    divergence = share * log(share / MIN_SAVING)
    if share < 1:
        divergence += (1 - share) * log((1 - share) / (1 - MIN_SAVING))
    return exp(-n_samples * divergence)
