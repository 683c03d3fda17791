"""Recognises a drift whose commit was rewritten: by the title and author of the commit, or by its patch."""

from __future__ import annotations

from service.rules.events.grouping import LocatedDrift
from service.schemas.history import Cause


def is_rewritten(drift: LocatedDrift, former: LocatedDrift) -> bool:
    """Return whether a drift is a former drift of its series on a rewritten branch.

    Its commit has the same author and title, but another hash.
    """
    return _may_be_rewritten(drift, former) and bool(drift.change) and drift.change == former.change


def carries_same_patch(drift: LocatedDrift, former: LocatedDrift) -> bool:
    """Return whether a drift is a former drift of its series: the commits have different hashes, but one patch id.

    This is more reliable than :func:`is_rewritten`, because several commits can have one title, and an amend may change
    it.
    """
    return _may_be_rewritten(drift, former) and bool(drift.patch) and drift.patch == former.patch


def _may_be_rewritten(drift: LocatedDrift, former: LocatedDrift) -> bool:
    """Return whether a drift resembles a former one that is no longer detected, but has another commit."""
    return (
        not former.still_detected
        and (drift.worse, drift.cause) == (former.worse, former.cause)
        and drift.cause is Cause.COMMIT
        and drift.revision != former.revision
    )
