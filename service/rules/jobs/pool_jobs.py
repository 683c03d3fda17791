"""Decides about the jobs of hosts that share a search: one for each host, and one posted result. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.contract.job import BisectQuestion, JobOrder, State


@dataclass(frozen=True, slots=True)
class PoolMember:
    """Another job of the same order."""

    state: State
    posted: bool
    """Whether its result was posted, or is being posted."""


def split_by_host(order: JobOrder) -> list[JobOrder]:
    """Return an order for each host of the pool that an order names; otherwise the order itself."""
    question = order.question
    if not isinstance(question, BisectQuestion) or question.host is not None or not question.pool:
        return [order]
    own = [question.model_copy(update={"host": host}) for host in question.pool]
    return [order.model_copy(update={"question": part}) for part in own]


def posts_result(state: State, others: Sequence[PoolMember]) -> bool:
    """Return whether the result of an ended job is posted.

    All jobs of a pool come to the same result, so the first one that is done posts it. A job that ended otherwise does
    so only if it was the last one.
    """
    if any(other.posted for other in others):
        return False
    return state is State.DONE or not any(other.state.open or other.state is State.DONE for other in others)
