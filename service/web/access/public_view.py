"""Removes from views what is not public, for services that show their results without a token.

Results are public: series, drifts, events, and the commits and the names of the settings that moved them. Who decided
what is hidden, and so is what concerns only the hosts: values of settings, messages of failed builds, and reasons for
quarantines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel

from service.schemas.history import FailureSummary, RunSummary, SeriesFailure, SeriesPoint, SettingChange
from service.schemas.triage import EventDetail, EventSummary
from service.web.access import authorization

HIDDEN_VALUE = "(hidden)"
"""Replaces a value that is not public."""
T = TypeVar("T")


def redact_view_for_caller(view: T) -> T:
    """Return a view or a list of views, reduced to the public part if the caller has no token."""
    return redact_view(view) if authorization.is_anonymous() else view


def redact_view(view: T) -> T:
    """Return the public part of a view or of a list of views.

    Unchanged parts are not copied, because a series can be long.
    """
    result: Any = view
    if isinstance(view, list):
        items = [redact_view(item) for item in view]
        result = items if any(new is not old for new, old in zip(items, view, strict=True)) else view
    elif isinstance(view, BaseModel):
        changes = dict(_hide_fields(view))
        for name in type(view).model_fields.keys() - changes.keys():
            value = getattr(view, name)
            public_value = redact_view(value)
            if public_value is not value:
                changes[name] = public_value
        if changes:
            result = view.model_copy(update=changes)
    return result  # type: ignore[no-any-return]


def _hide_fields(view: BaseModel) -> Mapping[str, Any]:
    """Return replacement values for the fields of a view that are not public, by name."""
    for kind, hide in _HIDDEN_FIELDS.items():
        if isinstance(view, kind):
            return hide(view)
    return {}


def _hide_quarantine(view: SeriesPoint | RunSummary) -> Mapping[str, Any]:
    return {"quarantine": HIDDEN_VALUE} if view.quarantine else {}


def _hide_setting(change: SettingChange) -> Mapping[str, Any]:
    return {name: None if getattr(change, name) is None else HIDDEN_VALUE for name in ("before", "after")}


_HIDDEN_DECISION = {"last_decision": None, "assignee": "", "snoozed_until": None, "snoozed_to_next_run": False}
_HIDDEN_FIELDS: Mapping[type[BaseModel], Callable[[Any], Mapping[str, Any]]] = {
    SettingChange: _hide_setting,
    SeriesPoint: _hide_quarantine,
    RunSummary: _hide_quarantine,
    FailureSummary: lambda _: {"message": HIDDEN_VALUE},
    SeriesFailure: lambda _: {"message": HIDDEN_VALUE},
    EventDetail: lambda _: {**_HIDDEN_DECISION, "allowed": [], "next_step": None},
    EventSummary: lambda _: _HIDDEN_DECISION,
}
"""Functions that return the replacements for a view, by its class. The first match counts: subclasses come first."""
