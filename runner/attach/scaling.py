"""Scales what was recorded for a part of the time to all of it. Pure; every table still adds up."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from runner.contract.profile import Access, Anatomy, Site, Touch

Key = TypeVar("Key", bound=Hashable)


def distribute(weights: Mapping[Key, int], total: int) -> dict[Key, int]:
    """Distribute a total in proportion to weights, in whole numbers that add up to it exactly."""
    whole = sum(weights.values())
    if not whole:
        return {}
    shares = {key: weight * total // whole for key, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda key: -(weights[key] * total % whole))
    for key in by_remainder[: total - sum(shares.values())]:
        shares[key] += 1
    return shares


def scale_anatomy(anatomy: Anatomy, counted: int) -> Anatomy:
    """Return an anatomy whose tables add up to another number of faults."""
    if not anatomy.counted or anatomy.counted == counted:
        return anatomy
    factor = counted / anatomy.counted
    places = distribute(
        {-1: anatomy.elsewhere, **{index: site.faults for index, site in enumerate(anatomy.sites)}}, counted
    )
    return anatomy.model_copy(
        update={
            "counted": counted,
            "recorded": counted,
            "unplaced": 0,
            "major": round(anatomy.major * factor),
            "pages": round(anatomy.pages * factor),
            "by_memory": distribute(anatomy.by_memory, counted),
            "by_touch": distribute(anatomy.by_touch, counted),
            "by_access": distribute(anatomy.by_access, counted),
            "major_by_memory": {kind: round(number * factor) for kind, number in anatomy.major_by_memory.items()},
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
    new = complete.by_touch.get(Touch.FIRST, 0)
    again = complete.by_touch.get(Touch.AGAIN, 0)
    touches = dict(sampled.by_touch)
    first = touches.pop(Touch.FIRST, 0)
    split = distribute({Touch.FIRST: new, Touch.AGAIN: again}, first) or {Touch.FIRST: first}
    for touch, number in split.items():
        touches[touch] = touches.get(touch, 0) + number
    share = split.get(Touch.AGAIN, 0) / first if first else 0.0
    sites = [part for site in sampled.sites for part in _split_site(site, share)]
    sites.sort(key=lambda site: -site.faults)
    access = distribute(complete.by_access, sampled.counted) or {Access.UNKNOWN: sampled.counted}
    pages = sampled.counted * complete.pages // complete.counted if complete.counted else sampled.pages
    return sampled.model_copy(
        update={
            "by_touch": dict(sorted(touches.items(), key=lambda item: -item[1])),
            "by_access": access,
            "sites": tuple(sites),
            "pages": pages,
            "period": 1,
            "major": sampled.counted * complete.major // complete.counted if complete.counted else 0,
        }
    )


def _split_site(site: Site, share: float) -> list[Site]:
    """Return a place as its first touches, and those of pages that had been in memory."""
    again = round(site.faults * share) if site.touch is Touch.FIRST else 0
    parts = [site.model_copy(update={"faults": site.faults - again})]
    if again:
        parts.append(site.model_copy(update={"faults": again, "touch": Touch.AGAIN}))
    return [part for part in parts if part.faults]
