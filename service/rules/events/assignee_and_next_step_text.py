"""Says in a few words who should look into an event, and what to do about it."""

from __future__ import annotations

from service.schemas.certainty import Certainty
from service.schemas.history import Cause
from service.schemas.triage import EventDirection, EventSummary, State

_MAX_NAMED_AUTHORS = 2
"""At most this many authors are named; the others are only counted."""


def describe_assignees(event: EventSummary, *, can_be_confirmed: bool = True) -> str:
    """Return who should look into an event: the chosen assignee, otherwise the authors of its proven commits.

    If no commit is proven, these are the authors of the candidates, unless there are more than two. Empty if there is
    nobody to name: while further runs will decide whether there is a change, only the chosen assignee is returned. The
    same holds if not all candidates are known, because the author of a known one is rarely to blame for what unknown
    commits changed.

    Parameters
    ----------
    can_be_confirmed
        Whether further runs, which could confirm an event in doubt, can be expected. If not, somebody has to decide.
    """
    if event.assignee:
        return event.assignee
    if event.culprits:
        return _join_names(list(dict.fromkeys(culprit.author for culprit in event.culprits if culprit.author)))
    is_waiting = event.certainty is Certainty.PROVISIONAL and can_be_confirmed
    if event.cause in {Cause.COMMIT, Cause.COMMIT_AND_CONFIG} and not is_waiting:
        if event.certainty is Certainty.SINGLE_COMMIT and event.author:
            return event.author
        if event.candidates_known and event.n_candidates and len(event.authors) <= _MAX_NAMED_AUTHORS:
            return _join_names(event.authors)
    return ""


def describe_next_step(  # noqa: PLR0911 - one return per step
    event: EventSummary, *, can_be_confirmed: bool = True
) -> str:
    """Return what to do next about an event; empty if the event is closed.

    Parameters
    ----------
    can_be_confirmed
        Whether further runs, which could confirm an event in doubt, can be expected.
    """
    if not event.open:
        return ""
    if event.certainty is Certainty.PROVISIONAL:
        if can_be_confirmed:
            return "Wait: further runs will decide"
        return "No further run will come: mark it as expected, or as a false alarm"
    if event.only_builds is not None:
        return "Nothing to do: builds or folders cause the difference, not a commit"
    if event.cause is Cause.UNKNOWN:
        return "Check the host"
    # Whoever acknowledges an event is assumed to know its commit.
    has_several_candidates = event.n_candidates > 1 or not event.candidates_known
    if event.certainty is Certainty.COMMIT_RANGE and has_several_candidates and event.state is not State.ACKNOWLEDGED:
        if event.cause is Cause.COMMIT_AND_CONFIG:
            return "Find out whether a commit or the configuration caused it"
        if event.candidates_known:
            return f"Find which of {event.n_candidates:,} commits caused it"
        return "Find which commit caused it"
    if event.direction is EventDirection.IMPROVEMENT:
        return "Nothing to repair: mark it as expected"
    if event.cause is Cause.CONFIG:
        return "Revert the configuration, or mark it as expected"
    return "Fix the regression, or mark it as expected"


def _join_names(authors: list[str]) -> str:
    return " or ".join(authors) if len(authors) <= _MAX_NAMED_AUTHORS else f"{len(authors)} authors"
