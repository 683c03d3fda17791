"""Decides what the bisect policy of a subject allows."""

from __future__ import annotations

from collections.abc import Iterable

from service.schemas.triage import BisectPolicy


def offers_bisects(policy: BisectPolicy) -> bool:
    """Return whether an event shows the bisect that it needs."""
    return policy is not BisectPolicy.OFF


def may_comment_offer_bisect(policies: Iterable[BisectPolicy], n_commits: int) -> bool:
    """Return whether the comment of a failing gate may offer a bisect.

    Parameters
    ----------
    policies
        Policies of the subjects that the gate measured.
    n_commits
        The number of commits of the pull request; a single one needs no bisect.
    """
    return n_commits > 1 and all(map(offers_bisects, policies))


def orders_bisects(policy: BisectPolicy) -> bool:
    """Return whether the service orders bisects without being asked."""
    return policy is BisectPolicy.DO
