"""When a culprit is proven: measured against its parent, in turns in one session, by the rules of the gate. Pure.

A search trusts one run for a level, or a model of the noise. A proof trusts neither: both commits are measured again,
next to each other, until :func:`service.gate.decide` says that they differ, or that they do not. Its bounds hold
whatever the noise is like.
"""

from __future__ import annotations

from enum import StrEnum

from runner.contract import Comparison, Verdict
from service.bisect.question import Culprit


class Proof(StrEnum):
    """What a comparison of a culprit with its parent shows."""

    STANDS = "stands"
    FAILS = "fails"
    """The two do not differ, or the other way: the host was not what it is now, or the metric does not repeat."""
    OPEN = "open"
    """More pairs are needed, or the metric was not measured."""


def judge(culprit: Culprit, metric: str, comparison: Comparison) -> tuple[Proof, str]:
    """Return what a comparison of the culprit (head) with its parent (base) shows, and why in words."""
    one = next((one for one in comparison.metrics if one.metric == metric), None)
    if one is None:
        return Proof.OPEN, f"{metric} was not measured."
    if one.verdict is Verdict.NEEDS_MORE_RUNS:
        return Proof.OPEN, one.sentence
    agrees = one.change is not None and (one.change > 0) == (culprit.after > culprit.before)
    if one.verdict is Verdict.CHANGED and agrees:
        return Proof.STANDS, one.sentence
    found = "the change has the other sign" if one.verdict is Verdict.CHANGED else "there is no change"
    sentence = f"The search saw {culprit.before} before and {culprit.after} after, but measured in turns {found}."
    return Proof.FAILS, f"{sentence} {one.sentence}"
