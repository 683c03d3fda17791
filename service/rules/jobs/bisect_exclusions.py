"""Decides which drifts are not bisected, because nobody waits for their commit, or no host can find it.

The service skips closed, withdrawn, snoozed and silenced events, events below the floor, and those that were bisected
before; imported drifts, drifts on silent or busy hosts, and drifts whose commits are not merged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from service.rules.jobs.repeated_bisects import OrderedBisect, may_repeat_bisects
from service.schemas.history import Drift
from service.schemas.triage import EventSummary

CONDITIONS_ON_EVENTS: dict[str, Any] = {"open": True, "still_detected": True, "snoozed": False, "below_floor": False}
"""The query's conditions: nobody wants a bisect of a snoozed event, and none can explain an event below the floor."""


@dataclass(frozen=True, slots=True)
class OpenEvent:
    """An event on which somebody still has to act.

    Attributes
    ----------
    drifts
        Its drifts that are still detected.
    bisects
        The bisects that the service or people ordered for any of its drifts.
    """

    drifts: Sequence[Drift]
    silenced: bool
    bisects: Sequence[OrderedBisect] = ()


def may_bisect_event(event: OpenEvent, now: datetime) -> bool:
    """Return whether the service may order a bisect of an event: it is not silenced, nor was it bisected before.

    See :func:`may_repeat_bisects` for bisects that failed.
    """
    return not event.silenced and may_repeat_bisects(event.bisects, now)


def needs_culprit(event: EventSummary) -> bool:
    """Return whether an event is open and certain, and no bisect has narrowed it down yet."""
    is_current = event.open and event.still_detected and event.merged_into is None
    return is_current and event.confirmed and not event.culprits


def explain_why_settled(event: EventSummary | None) -> tuple[str, bool]:
    """Return why the event of a drift needs no bisect any more, and whether it is open but no longer detected.

    The reason is empty if the event needs a bisect.
    """
    if event is None:
        return "The drift no longer exists.", False
    if event.merged_into is not None:
        return f"The event was merged into event {event.merged_into}.", False
    if not event.open:
        return f"The event is {event.state.value.replace('_', ' ')}, so its commit no longer needs to be found.", False
    reason = "Another bisect has narrowed down the event." if event.culprits else ""
    return reason, not event.still_detected


@dataclass(frozen=True, slots=True)
class DriftFacts:
    """The facts that decide whether the commits of a drift are measured; each may take a query."""

    expects_runs: Callable[[Drift], bool]
    """Whether its host is expected to measure its case again: it still reports, and the results were not imported."""
    is_range: Callable[[Drift], bool]
    """Whether its bad end descends from its good end."""
    needs_unmerged_commits: Callable[[Drift], bool]
    """Whether a bisect would build commits of an unmerged pull request."""

    def may_be_offered(self, drift: Drift) -> bool:
        """Return whether a person who orders a bisect of the drift can expect a result."""
        return self.expects_runs(drift) and self.is_range(drift)

    def may_be_ordered(self, drift: Drift) -> bool:
        """Return whether the service may order a bisect of the drift without being asked."""
        return self.may_be_offered(drift) and not self.needs_unmerged_commits(drift)


def is_idle(last_seen: datetime | None, now: datetime, min_idle_time: timedelta) -> bool:
    """Return whether a host is not measuring now, according to the end of its newest run."""
    return last_seen is None or last_seen < now - min_idle_time
