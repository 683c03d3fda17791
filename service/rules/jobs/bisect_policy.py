"""Decides what the bisect policy of a subject allows."""

from __future__ import annotations

from service.schemas.triage import BisectPolicy


def offers_bisects(policy: BisectPolicy) -> bool:
    """Return whether an event shows the bisect that it needs."""
    return policy is not BisectPolicy.OFF


def orders_bisects(policy: BisectPolicy) -> bool:
    """Return whether the service orders bisects without being asked."""
    return policy is BisectPolicy.DO
