"""Finds the next bisect of an event or a subject: which drift it would explain, according to the subject's policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from types import MappingProxyType

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.pipeline.expected_further_runs import FurtherRuns
from service.rules.jobs import bisect_allowance, bisect_exclusions, drifts_to_bisect
from service.rules.jobs.bisect_exclusions import CONDITIONS_ON_EVENTS, DriftFacts, OpenEvent, is_idle, needs_culprit
from service.rules.jobs.bisect_question import build_bisect_question
from service.schemas.certainty import Certainty
from service.schemas.history import Drift
from service.schemas.triage import BisectPolicy, EventDetail, EventOrder, EventSummary, NextStep
from service.store import forge_queue, jobs, subjects
from service.store.bisects import bisect_results
from service.store.events import event_drifts, events
from service.store.models import EventDriftRow
from service.store.revisions import revisions
from service.store.series import points
from service.text import commands_to_copy

_EVENTS_PER_QUERY = 50
"""Events are read in pages of this many, because the caller usually takes one of the first."""
_MAX_EVENTS = 500
"""The next event to bisect is looked for among so many of the subject's most important events at a time."""


def read_event_with_next_step(session: Session, event_id: str, now: datetime) -> EventDetail | None:
    """Return one event with its next step, if it needs one; None if there is no such event."""
    drifts = _list_drifts(session, event_id)
    event = events.read_event(session, event_id, drifts)
    if event is None:
        return None
    next_step = find_next_steps(session, [event], now, {event_id: drifts}).get(event_id)
    return event.model_copy(update={"next_step": next_step})


def find_next_steps(
    session: Session,
    summaries: Sequence[EventSummary],
    now: datetime,
    known_drifts: Mapping[str, Sequence[Drift]] = MappingProxyType({}),
) -> dict[str, NextStep]:
    """Return the bisect that each event needs, by the event's id; most events need none.

    Parameters
    ----------
    known_drifts
        Drifts that the caller has already read, by the id of their event.
    """
    policies = subjects.map_bisect_policies(session, (event.subject for event in summaries))
    events_without_culprit = [
        event
        for event in summaries
        if needs_culprit(event) and bisect_allowance.offers_bisects(policies[event.subject])
    ]
    bisected_events: set[str] = set()
    for subject in {event.subject for event in events_without_culprit}:
        bisected_events |= bisect_results.map_bisects_by_event(session, subject).keys()
    steps: dict[str, NextStep] = {}
    facts = _build_drift_facts(session, FurtherRuns(session, now))
    for event in events_without_culprit:
        if event.id in bisected_events:
            continue
        drifts = known_drifts[event.id] if event.id in known_drifts else _list_drifts(session, event.id)
        drift = drifts_to_bisect.choose_drift_to_bisect(drifts, facts.may_be_offered)
        if drift is not None:
            steps[event.id] = _build_next_step(session, drift, policies[event.subject])
    return steps


def choose_drift_to_order(
    session: Session, subject: str, now: datetime, *, runs_a_day: int, min_idle_time: timedelta
) -> tuple[Drift | None, int]:
    """Return the drift for which the service should order a bisect, and how many runs the bisect may take.

    The drift is None if the policy, the day's runs or the hosts do not allow a bisect, or if no measurement would make
    the commit of an open event more certain.
    """
    policy = subjects.map_bisect_policies(session, [subject])[subject]
    n_allowed_runs = bisect_allowance.count_allowed_runs(
        policy, bisect_results.list_ordered_by_service(session, subject), now, runs_a_day
    )
    if not n_allowed_runs:
        return None, 0
    further_runs = FurtherRuns(session, now)
    facts = _build_drift_facts(session, further_runs)
    # None stands for an open job without a host, which any host may be about to start.
    busy_hosts = {row.host or row.question.get("host") for row in jobs.list_open_jobs(session)}

    def is_measurable_now(drift: Drift) -> bool:
        """Return whether the drift's host is idle, and whether the service may order a bisect of the drift."""
        return (
            not busy_hosts & {None, drift.host}
            and is_idle(further_runs.find_last_seen(drift.host), now, min_idle_time)
            and facts.may_be_ordered(drift)
        )

    # Events with several candidates are narrowed down first; then single candidates are proven, and suspicions settled.
    events_in_turn = chain.from_iterable(
        _list_open_events(session, subject, certainty)
        for certainty in (Certainty.COMMIT_RANGE, Certainty.SINGLE_COMMIT, Certainty.PROVISIONAL)
    )
    drift = drifts_to_bisect.choose_drift_to_order(events_in_turn, is_measurable_now, now)
    return drift, n_allowed_runs


def explain_why_settled(session: Session, drift_id: str) -> tuple[str, bool]:
    """Return why a drift needs no bisect any more, and whether its event is open but no longer detected.

    The reason is empty if the drift needs a bisect.
    """
    event_id = event_drifts.map_events_by_drift(session, [drift_id]).get(drift_id)
    event = next(iter(events.list_summaries(session, [event_id])), None) if event_id else None
    return bisect_exclusions.explain_why_settled(event)


def _list_open_events(session: Session, subject: str, certainty: Certainty) -> Iterator[OpenEvent]:
    """Yield the open events of a subject with the given certainty, most important first."""
    event_filter = events.EventFilter(subject=subject, certainty=certainty, **CONDITIONS_ON_EVENTS)
    bisects_of_event = bisect_results.map_bisects_by_event(session, subject)
    for offset in range(0, _MAX_EVENTS, _EVENTS_PER_QUERY):
        items = events.list_page(session, event_filter, _EVENTS_PER_QUERY, offset, EventOrder.IMPORTANCE).items
        for event in items:
            yield OpenEvent(_list_drifts(session, event.id), event.silenced, bisects_of_event.get(event.id, ()))
        if len(items) < _EVENTS_PER_QUERY:
            return


def _list_drifts(session: Session, event_id: str) -> list[Drift]:
    """Return the drifts of an event that are still detected."""
    ids = session.scalars(
        select(EventDriftRow.drift_id).where(EventDriftRow.event_id == event_id, EventDriftRow.still_detected)
    )
    return event_drifts.read_drifts(session, list(ids))


def _build_drift_facts(session: Session, further_runs: FurtherRuns) -> DriftFacts:
    return DriftFacts(
        expects_runs=further_runs.are_expected,
        is_range=lambda drift: revisions.is_descendant(session, drift.subject, drift.good, drift.bad),
        needs_unmerged_commits=lambda drift: _needs_unmerged_commits(session, drift),
    )


def _needs_unmerged_commits(session: Session, drift: Drift) -> bool:
    """Return whether a bisect would build commits of an unmerged pull request."""
    commits = {drift.good, drift.bad, *(candidate.commit for candidate in drift.candidates)}
    return bool(forge_queue.select_unmerged_heads(session, commits))


def build_command(session: Session, drift: Drift) -> str:
    """Return the command that bisects a drift; empty if a job could not do so either."""
    if not revisions.is_descendant(session, drift.subject, drift.good, drift.bad):
        return ""
    question = build_bisect_question(drift, points.find_settings(session, drift.environment_after))
    return commands_to_copy.build_bisect_command(question, None) if question else ""


def _build_next_step(session: Session, drift: Drift, policy: BisectPolicy) -> NextStep:
    """Return the bisect that explains a drift: its commits, its expected runs, and the command that orders it."""
    return NextStep(
        drift=drift.id,
        commits=len(drift.candidates) if drift.candidates_known else None,
        runs=drifts_to_bisect.estimate_drift_runs(drift),
        policy=policy,
        command=build_command(session, drift),
    )
