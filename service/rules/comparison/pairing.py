"""Which stored runs of two sides belong together: those that differ in what is asked about, and in no more. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

GROUP = 3
"""Runs of one revision in one environment that are taken together, the newest ones."""


class ComparableRun(NamedTuple):
    """A stored run, and what makes it comparable to another."""

    run_id: UUID
    number: int
    """What its points refer to it by."""
    subject: str
    case: str
    case_key: str
    host: str
    environment: str
    revision: str
    title: str
    position: int
    started_at: datetime


Runs = tuple[ComparableRun, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Runs of both sides that differ in what is asked about, and in as little else as possible."""

    base: Runs
    """The newest first."""
    head: Runs


@dataclass(frozen=True, slots=True)
class Matched:
    """What both sides have in common."""

    pairs: tuple[Pair, ...]
    only_base: Runs
    """One run for each case that only this side has."""
    only_head: Runs


def match(base: Iterable[ComparableRun], head: Iterable[ComparableRun], *, by_host: bool) -> Matched:
    """Pair the runs of both sides.

    Parameters
    ----------
    by_host
        Whether a run is compared to runs of its own host only.
    """
    left, right = _grouped(base, by_host), _grouped(head, by_host)
    return Matched(
        pairs=tuple(_nearest(left[key], right[key]) for key in left if key in right),
        only_base=tuple(left[key][0] for key in left if key not in right),
        only_head=tuple(right[key][0] for key in right if key not in left),
    )


def _grouped(runs: Iterable[ComparableRun], by_host: bool) -> dict[tuple[str, ...], list[ComparableRun]]:
    groups: dict[tuple[str, ...], list[ComparableRun]] = {}
    for run in sorted(runs, key=lambda run: run.started_at, reverse=True):
        groups.setdefault((run.subject, run.case_key, run.host if by_host else ""), []).append(run)
    return groups


def _nearest(base: Sequence[ComparableRun], head: Sequence[ComparableRun]) -> Pair:
    """Keep to the newest revision, then the newest environment, then the newest host that both sides have."""
    if len(base) == len(head) == 1:
        return Pair((base[0],), (head[0],))
    for same in ("revision", "environment", "host"):
        shared = {getattr(run, same) for run in base} & {getattr(run, same) for run in head}
        if shared:
            newest = max((run for run in base if getattr(run, same) in shared), key=_age)
            base = [run for run in base if getattr(run, same) == getattr(newest, same)]
            head = [run for run in head if getattr(run, same) == getattr(newest, same)]
    return Pair(_newest(base), _newest(head))


def _age(run: ComparableRun) -> tuple[int, datetime]:
    return run.position, run.started_at


def _newest(runs: Sequence[ComparableRun]) -> Runs:
    """Return the newest run, with those that repeat it."""
    newest = max(runs, key=_age)
    alike = [run for run in runs if _what(run) == _what(newest)]
    return tuple(sorted(alike, key=_age, reverse=True)[:GROUP])


def _what(run: ComparableRun) -> tuple[str, str, str]:
    return run.revision, run.environment, run.host
