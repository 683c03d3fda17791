"""The next bisect of an event or of a subject: which drift it would explain, by the policy of the subject."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.rules.imported_runs import is_imported
from service.rules.jobs import drifts_to_bisect
from service.rules.jobs.bisect_question import bisect_question
from service.rules.jobs.drifts_to_bisect import OpenEvent, OrderedBisect
from service.schemas.history import Drift
from service.schemas.triage import BisectPolicy, EventDetail, EventSummary, NextStep
from service.store import bisect_results, environments, event_drifts, events, hosts, points, revisions, subjects
from service.store.models import EventDriftRow
from service.text import commands

_NEWEST = 50
"""The newest open events of a subject, among which the service chooses the next one to bisect."""
_QUIET = timedelta(minutes=2)
"""Time without a new run after which a host counts as idle."""
_LONGEST_SILENCE = timedelta(days=14)
"""A host that has not reported for so long cannot be expected to measure anything."""


def detail(session: Session, event_id: str, now: datetime) -> EventDetail | None:
    """Return one event with its next step."""
    found = events.detail(session, event_id)
    return found and found.model_copy(update={"next_step": next_steps(session, [found], now).get(event_id)})


def next_steps(session: Session, summaries: Sequence[EventSummary], now: datetime) -> dict[str, NextStep]:
    """Return the bisect that each event needs, by the event's id. Most events need none."""
    policies = subjects.policies(session, (event.subject for event in summaries))
    waiting = [
        event
        for event in summaries
        if event.open and event.found and event.confirmed and event.merged_into is None and not event.culprits
        if policies[event.subject] is not BisectPolicy.OFF
    ]
    bisected = {
        event_id
        for subject in {event.subject for event in waiting}
        for event_id in bisect_results.bisected_events(session, subject)
    }
    steps: dict[str, NextStep] = {}
    for event in waiting:
        if event.id in bisected:
            continue
        drift = drifts_to_bisect.drift_to_bisect(
            _drifts(session, event.id), lambda drift: _is_measurable(session, drift, now)
        )
        if drift is not None:
            steps[event.id] = _step(session, drift, policies[event.subject])
    return steps


def drift_to_order(session: Session, subject: str, now: datetime) -> Drift | None:
    """Return the drift for which the service is to order a bisect by itself; None where it is to order none."""
    ordered = [
        OrderedBisect(job.created_at, job.state.open) for job in bisect_results.ordered_by_service(session, subject)
    ]
    policy = subjects.policies(session, [subject])[subject]
    if not drifts_to_bisect.may_order(policy, ordered, now):
        return None
    filter_ = events.EventFilter(subject=subject, open=True, found=True)
    bisected = bisect_results.bisected_events(session, subject)
    waiting = [
        OpenEvent(
            drifts=[] if event.id in bisected else _drifts(session, event.id),
            silenced=event.silenced,
            bisected=event.id in bisected,
        )
        for event in events.page(session, filter_, _NEWEST, 0).items
        if event.confirmed
    ]
    return drifts_to_bisect.drift_to_order(
        waiting, lambda drift: _is_quiet(session, drift.host, now) and _is_measurable(session, drift, now)
    )


def _drifts(session: Session, event_id: str) -> list[Drift]:
    ids = session.scalars(select(EventDriftRow.drift_id).where(EventDriftRow.event_id == event_id, EventDriftRow.found))
    return event_drifts.drifts(session, list(ids))


def _is_quiet(session: Session, host: str, now: datetime) -> bool:
    """Return whether a host is not measuring now, as far as its runs show."""
    last_seen = hosts.last_seen(session, host)
    return last_seen is None or last_seen < now - _QUIET


def _is_measurable(session: Session, drift: Drift, now: datetime) -> bool:
    """Return whether a host can be expected to measure the case of a drift: it is alive, and measured it itself."""
    sides = {drift.environment_before, drift.environment_after}
    knobs = environments.knobs(session, sides)
    if any(map(is_imported, knobs.values())):
        return False
    last_seen = hosts.last_seen(session, drift.host)
    if last_seen is None or last_seen < now - _LONGEST_SILENCE:
        return False
    return revisions.descends(session, drift.subject, drift.good, drift.bad)


def _step(session: Session, drift: Drift, policy: BisectPolicy) -> NextStep:
    question = bisect_question(drift, points.knobs(session, drift.environment_after))
    return NextStep(
        drift=drift.id,
        commits=len(drift.candidates) if drift.candidates_known else None,
        runs=drifts_to_bisect.expected_runs(drift),
        policy=policy,
        command=commands.bisect(question, None) if question else "",
    )
