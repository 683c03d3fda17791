"""Drifts that are one event: the same change seen in several cases. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from service.schemas.history import Drift


@dataclass(frozen=True, slots=True)
class Event:
    """One commit or one configuration change, with every case in which it moved a metric the same way."""

    drifts: tuple[Drift, ...]
    """The largest change first."""

    @property
    def largest(self) -> Drift:
        """The drift that speaks for the event."""
        return self.drifts[0]


def events(drifts: Iterable[Drift]) -> list[Event]:
    """Put the drifts of one event together, in the order in which each event is met first."""
    groups: dict[tuple[str, ...], list[Drift]] = {}
    for drift in drifts:
        groups.setdefault(_what_happened(drift), []).append(drift)
    return [Event(tuple(sorted(group, key=lambda drift: abs(drift.change), reverse=True))) for group in groups.values()]


def _what_happened(drift: Drift) -> tuple[str, ...]:
    return (
        drift.subject,
        drift.host,
        drift.metric,
        drift.cause,
        drift.direction,
        drift.revision,
        drift.environment_before,
        drift.environment_after,
    )
