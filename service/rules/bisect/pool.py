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
from service.text.numbers import quantity

MAX_RESERVATION = timedelta(hours=1)
"""How long a host may keep the others from measuring what it measures."""
NEAR_END_SHARE = 0.25
"""How near the expected end of a measurement is worth waiting for, as a share of the duration of a measurement."""
MAX_WAIT_SHARE = 0.5
"""How long a host waits for others while it could measure something, as a share of the duration of a measurement."""
LEAST_PAUSE, MOST_PAUSE = 0.25, 10.0
"""Seconds after which a host that waits asks again."""
_PAUSES_PER_MEASUREMENT = 20
"""Pauses in the duration of a measurement."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """What another host of the pool measures.

    Attributes
    ----------
    commits
        A commit, or a culprit's parent and the culprit.
    since
        When it began.
    seconds
        How long the last measurement of that host took; None if it has measured nothing yet.
    """

    host: str
    commits: tuple[str, ...]
    since: datetime
    seconds: float | None = None

    @property
    def proof(self) -> bool:
        """Whether the commits are measured interleaved."""
        return len(self.commits) > 1


@dataclass(frozen=True, slots=True)
class LastMeasurement:
    """When a host ended its last measurement, and how long that took."""

    ended_at: datetime
    seconds: float


def valid(reservations: Iterable[Reservation], now: datetime) -> list[Reservation]:
    """Return the reservations that keep other hosts from measuring the same."""
    return [
        reservation for reservation in reservations if reservation.commits and now - reservation.since < MAX_RESERVATION
    ]


def ending_soon(reservations: Iterable[Reservation], last: LastMeasurement | None, now: datetime) -> list[Reservation]:
    """Return the reservations for whose results it is worth waiting: they should be there soon, or just now.

    Parameters
    ----------
    last
        The last measurement of the asking host; None if it has measured nothing yet.
    """
    if last is None or (now - last.ended_at).total_seconds() > MAX_WAIT_SHARE * last.seconds:
        return []
    return [
        reservation
        for reservation in reservations
        if not reservation.proof and _ends_soon(reservation, last.seconds, now)
    ]


def _ends_soon(reservation: Reservation, seconds: float, now: datetime) -> bool:
    expected = reservation.seconds or seconds
    return abs((now - reservation.since).total_seconds() - expected) <= NEAR_END_SHARE * min(seconds, expected)


def pause(last: LastMeasurement | None) -> float:
    """Return after how many seconds a host that waits asks again."""
    return min(MOST_PAUSE, max(LEAST_PAUSE, last.seconds / _PAUSES_PER_MEASUREMENT)) if last else LEAST_PAUSE


def disagreement(observations: Iterable[Observation], least: float, unit: str = "") -> str:
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
    counts = ", ".join(f"{quantity(level, unit).strip()} on {host}" for host, level in sorted(by_host.items()))
    return (
        f"The hosts are not identical, although their environments are: {commit[:10]} measures {counts}. "
        "Search with one of them."
    )
