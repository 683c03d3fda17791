"""Shares a search among identical hosts: what the others measure, and whom it is worth waiting for. Pure.

There is no leader. Each host leads the same search by itself, and takes a commit that no other one measures. What the
hosts measure at the same time divides the range into equal parts, so a host whose measurement ended while those of the
others are about to end waits for them: with their results the range is smaller, and the next commits divide it better.
A host that takes much longer than the others, or is gone, is not waited for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.contract.level import Number, median
from service.rules.bisect.question import Observation

LONGEST_CLAIM = timedelta(hours=1)
"""How long a host may keep the others from measuring what it measures."""
SOON = (0.75, 1.25)
"""A measurement is expected to end soon from the first to the second multiple of the duration of the last one."""
LEAST_PAUSE, MOST_PAUSE = 0.5, 10.0
"""Seconds after which a host that waits asks again."""
_PAUSES = 20
"""Pauses in the duration of a measurement."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What another host of the pool measures.

    Attributes
    ----------
    commits
        A commit, or a culprit's parent and the culprit.
    since
        When it began.
    """

    host: str
    commits: tuple[str, ...]
    since: datetime

    @property
    def proof(self) -> bool:
        """Whether the commits are measured in turns."""
        return len(self.commits) > 1


def valid(claims: Iterable[Claim], now: datetime) -> list[Claim]:
    """Return the claims that keep other hosts from measuring the same."""
    return [claim for claim in claims if claim.commits and now - claim.since < LONGEST_CLAIM]


def ending_soon(claims: Iterable[Claim], seconds: float | None, now: datetime) -> list[Claim]:
    """Return the claims for whose results it is worth waiting.

    Parameters
    ----------
    seconds
        How long the last measurement of the asking host took; None if it has measured nothing yet.
    """
    if seconds is None:
        return []
    low, high = (factor * seconds for factor in SOON)
    return [claim for claim in claims if not claim.proof and low <= (now - claim.since).total_seconds() <= high]


def pause(seconds: float | None) -> float:
    """Return after how many seconds a host that waits asks again."""
    return min(MOST_PAUSE, max(LEAST_PAUSE, (seconds or 0) / _PAUSES))


def disagreement(observations: Iterable[Observation], least: float) -> str:
    """Return why the hosts are not identical, although their environments are; empty where nothing shows that.

    The commits that several hosts have measured show it, where most of them have another level on another host.
    """
    values: dict[str, dict[str, list[Number]]] = defaultdict(lambda: defaultdict(list))
    for run in observations:
        if run.value is not None and run.session is None:
            values[run.commit][run.host].append(run.value)
    levels = {
        commit: {host: level for host, found in by_host.items() if (level := median(found)) is not None}
        for commit, by_host in values.items()
        if len(by_host) > 1
    }
    differing = {
        commit: by_host
        for commit, by_host in levels.items()
        if (apart := max(by_host.values()) - min(by_host.values())) and apart >= least
    }
    if len(differing) * 2 <= len(levels):
        return ""
    commit, by_host = next(iter(differing.items()))
    counts = ", ".join(f"{level} on {host}" for host, level in sorted(by_host.items()))
    return (
        f"The hosts are not identical, although their environments are: {commit[:10]} measures {counts}. "
        "Search with one of them."
    )
