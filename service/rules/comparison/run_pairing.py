"""Pairs the stored runs of two sides, so that the runs of a pair differ in as little else as possible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

MAX_POOLED_RUNS = 3
"""How many of the newest runs of one revision in one environment are pooled."""


class ComparableRun(NamedTuple):
    """A stored run, with the fields that decide with which other runs it can be compared."""

    run_id: UUID
    number: int
    """The number by which points refer to the run."""
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
    """Runs of both sides that differ in what is compared, and in as little else as possible; newest first."""

    base: Runs
    head: Runs


@dataclass(frozen=True, slots=True)
class Matched:
    """The runs of both sides, paired by case."""

    pairs: tuple[Pair, ...]
    only_base: Runs
    """One run of each case that head lacks."""
    only_head: Runs
    """One run of each case that base lacks."""


def match_runs(base: Iterable[ComparableRun], head: Iterable[ComparableRun], *, by_host: bool) -> Matched:
    """Pair the runs of both sides.

    Parameters
    ----------
    by_host
        Whether a run is compared only with runs of its own host.
    """
    base_groups, head_groups = _group_runs(base, by_host), _group_runs(head, by_host)
    return Matched(
        pairs=tuple(
            _restrict_to_nearest_runs(base_groups[key], head_groups[key]) for key in base_groups if key in head_groups
        ),
        only_base=tuple(base_groups[key][0] for key in base_groups if key not in head_groups),
        only_head=tuple(head_groups[key][0] for key in head_groups if key not in base_groups),
    )


def _group_runs(runs: Iterable[ComparableRun], by_host: bool) -> dict[tuple[str, ...], list[ComparableRun]]:
    """Group runs by subject and case, and by host if ``by_host``; newest first."""
    groups: dict[tuple[str, ...], list[ComparableRun]] = {}
    for run in sorted(runs, key=lambda run: run.started_at, reverse=True):
        groups.setdefault((run.subject, run.case_key, run.host if by_host else ""), []).append(run)
    return groups


def _restrict_to_nearest_runs(base: Sequence[ComparableRun], head: Sequence[ComparableRun]) -> Pair:
    """Restrict both sides to the newest revision that they share, then to the newest shared environment, then host.

    An attribute that they do not share restricts neither side. Of the rest, each side keeps its newest repeated runs.
    """
    if len(base) == len(head) == 1:  # there is nothing to choose from
        return Pair((base[0],), (head[0],))
    for attribute in ("revision", "environment", "host"):
        shared_values = {getattr(run, attribute) for run in base} & {getattr(run, attribute) for run in head}
        if shared_values:
            newest_run = max((run for run in base if getattr(run, attribute) in shared_values), key=_get_history_order)
            base = [run for run in base if getattr(run, attribute) == getattr(newest_run, attribute)]
            head = [run for run in head if getattr(run, attribute) == getattr(newest_run, attribute)]
    return Pair(_list_newest_repeats(base), _list_newest_repeats(head))


def _get_history_order(run: ComparableRun) -> tuple[int, datetime]:
    return run.position, run.started_at


def _list_newest_repeats(runs: Sequence[ComparableRun]) -> Runs:
    """Return the newest run and its repetitions, newest first, at most ``MAX_POOLED_RUNS``."""
    newest_run = max(runs, key=_get_history_order)
    repeats = [run for run in runs if _identify_measured_state(run) == _identify_measured_state(newest_run)]
    return tuple(sorted(repeats, key=_get_history_order, reverse=True)[:MAX_POOLED_RUNS])


def _identify_measured_state(run: ComparableRun) -> tuple[str, str, str]:
    """Return revision, environment and host, which repeated runs have in common."""
    return run.revision, run.environment, run.host
