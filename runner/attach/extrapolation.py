"""Scales what was recorded for a part of the time to all of it. Pure; every table still adds up."""

from collections.abc import Mapping
from typing import TypeVar

from runner.contract.profile import Access, Anatomy, FaultKind, Site, Touch
from runner.profile.stack_folding import divide_by_weights

Entry = TypeVar("Entry", Site, FaultKind)
_KNOWN_FROM_ALL = (Touch.FIRST, Touch.AGAIN, Touch.AFTER_FORK, Touch.AFTER_READ)
"""What a page without a returning call was before: only a recording of all faults tells."""


def scale_anatomy(anatomy: Anatomy, counted: int) -> Anatomy:
    """Return an anatomy whose tables add up to another number of faults."""
    if not anatomy.counted or anatomy.counted == counted:
        return anatomy
    factor = counted / anatomy.counted
    places = divide_by_weights(
        {-1: anatomy.elsewhere, **{index: site.faults for index, site in enumerate(anatomy.sites)}}, counted
    )
    kinds = divide_by_weights({index: kind.faults for index, kind in enumerate(anatomy.kinds)}, counted)
    return anatomy.model_copy(
        update={
            "counted": counted,
            "recorded": counted,
            "unplaced": 0,
            "pages": round(anatomy.pages * factor),
            "forks": round(anatomy.forks * factor),
            "threads": round(anatomy.threads * factor),
            "shared_pages": round(anatomy.shared_pages * factor),
            "by_memory": divide_by_weights(anatomy.by_memory, counted),
            "by_touch": divide_by_weights(anatomy.by_touch, counted),
            "by_access": divide_by_weights(anatomy.by_access, counted),
            **_scale_major_faults(anatomy, factor),
            "kinds": tuple(
                kind.model_copy(update={"faults": kinds[index]}) for index, kind in enumerate(anatomy.kinds) if kinds
            ),
            "sites": tuple(
                site.model_copy(update={"faults": places[index]}) for index, site in enumerate(anatomy.sites)
            ),
            "elsewhere": places[-1],
            "areas": tuple(area.model_copy(update={"faults": round(area.faults * factor)}) for area in anatomy.areas),
        }
    )


def merge_anatomies(complete: Anatomy, sampled: Anatomy) -> Anatomy:
    """Return the anatomy of a long time in which some faults were recorded, completed by a short one with all of them.

    The long one knows what was given back. Of the pages that were not, only the short one knows which had been in
    memory before, how often each page faulted, and how it was accessed.
    """
    touches = dict(sampled.by_touch)
    first = touches.pop(Touch.FIRST, 0)
    known = {touch: complete.by_touch.get(touch, 0) for touch in _KNOWN_FROM_ALL}
    forks = max(complete.forks, sampled.forks)
    if forks:
        # The short time may lie between a fork and the end of its child, and not see the fork.
        known = known | {Touch.AFTER_FORK: known[Touch.AFTER_FORK] + known[Touch.AGAIN], Touch.AGAIN: 0}
    split = divide_by_weights(known, first) or {Touch.FIRST: first}
    for touch, number in split.items():
        if number:
            touches[touch] = touches.get(touch, 0) + number
    sites = [part for site in sampled.sites for part in _split_by_touch(site, split)]
    sites.sort(key=lambda site: -site.faults)
    access = divide_by_weights(complete.by_access, sampled.counted) or {Access.UNKNOWN: sampled.counted}
    factor = sampled.counted / complete.counted if complete.counted else 1.0
    return sampled.model_copy(
        update={
            "by_touch": dict(sorted(touches.items(), key=lambda item: -item[1])),
            "by_access": access,
            "kinds": tuple(part for kind in sampled.kinds for part in _split_by_touch(kind, split)),
            "forks": forks,
            "sites": tuple(sites),
            "pages": round(complete.pages * factor) if complete.counted else sampled.pages,
            "shared_pages": round(complete.shared_pages * factor),
            "period": 1,
            **_scale_major_faults(complete, factor),
        }
    )


def _scale_major_faults(anatomy: Anatomy, factor: float) -> dict[str, object]:
    """Return the major faults of an anatomy, their memory and their places, times a factor."""
    sites = (site.model_copy(update={"faults": round(site.faults * factor)}) for site in anatomy.major_sites)
    return {
        "major": round(anatomy.major * factor),
        "major_by_memory": {kind: round(number * factor) for kind, number in anatomy.major_by_memory.items()},
        "major_sites": tuple(site for site in sites if site.faults),
    }


def _split_by_touch(entry: Entry, split: Mapping[Touch, int]) -> list[Entry]:
    """Return first touches as what they are by the time with all faults, in the same proportions everywhere."""
    if entry.touch is not Touch.FIRST:
        return [entry]
    shares = divide_by_weights(split, entry.faults) or {Touch.FIRST: entry.faults}
    return [entry.model_copy(update={"touch": touch, "faults": number}) for touch, number in shares.items() if number]
