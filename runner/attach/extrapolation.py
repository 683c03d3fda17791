"""Scales what was recorded in a part of the time to the whole time, so that every table still adds up."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from runner.contract.profile import Access, Anatomy, FaultKind, Memory, Site, Touch
from runner.profile.anatomy import merge_small_files
from runner.profile.stack_folding import divide_total_by_weights

Entry = TypeVar("Entry", Site, FaultKind)
_TOUCHES_OF_COMPLETE_RECORDINGS = (Touch.FIRST, Touch.AGAIN, Touch.AFTER_FORK, Touch.AFTER_READ)
"""The kinds of touches of pages that were not given back. Only a recording of all faults distinguishes them."""
_OTHER_SITES = -1
"""The key, among the indices of the sites, for the faults that belong to no site."""


def scale_anatomy(anatomy: Anatomy, n_faults: int) -> Anatomy:
    """Return an anatomy scaled to another number of faults, so that its tables add up to it."""
    if not anatomy.counted or anatomy.counted == n_faults:
        return anatomy
    factor = n_faults / anatomy.counted
    faults_by_site = divide_total_by_weights(
        {
            _OTHER_SITES: anatomy.faults_at_other_sites,
            **{index: site.faults for index, site in enumerate(anatomy.sites)},
        },
        n_faults,
    )
    faults_by_kind = divide_total_by_weights({index: kind.faults for index, kind in enumerate(anatomy.kinds)}, n_faults)
    scaled_kinds: tuple[FaultKind, ...] = ()
    if faults_by_kind:  # Empty if no kind has faults.
        scaled_kinds = tuple(
            kind.model_copy(update={"faults": faults_by_kind[index]}) for index, kind in enumerate(anatomy.kinds)
        )
    return anatomy.model_copy(
        update={
            "counted": n_faults,
            "recorded": n_faults,
            "unrecorded": 0,
            "pages": round(anatomy.pages * factor),
            "is_scaled": True,
            "forks": round(anatomy.forks * factor),
            "threads": round(anatomy.threads * factor),
            "shared_pages": round(anatomy.shared_pages * factor),
            "by_memory": divide_total_by_weights(anatomy.by_memory, n_faults),
            "by_touch": divide_total_by_weights(anatomy.by_touch, n_faults),
            "by_access": divide_total_by_weights(anatomy.by_access, n_faults),
            **_scale_major_faults(anatomy, factor),
            "kinds": scaled_kinds,
            "sites": tuple(
                site.model_copy(update={"faults": faults_by_site[index]}) for index, site in enumerate(anatomy.sites)
            ),
            "faults_at_other_sites": faults_by_site[_OTHER_SITES],
            "areas": tuple(area.model_copy(update={"faults": round(area.faults * factor)}) for area in anatomy.areas),
        }
    )


def merge_anatomies(complete_anatomy: Anatomy, sampled_anatomy: Anatomy) -> Anatomy:
    """Complete the anatomy of a long recording of sampled faults with that of a short recording of all faults.

    The long recording shows which pages were given back. For all other pages, only the short recording shows which of
    them had been in memory before, how often each page faulted, and how it was accessed.
    """
    touches = dict(sampled_anatomy.by_touch)
    first_touches = touches.pop(Touch.FIRST, 0)
    complete_touches = {touch: complete_anatomy.by_touch.get(touch, 0) for touch in _TOUCHES_OF_COMPLETE_RECORDINGS}
    forks = max(complete_anatomy.forks, sampled_anatomy.forks)
    if forks:
        # The short recording may begin after a fork. It takes the faults of the copied pages for repeated touches then.
        complete_touches = complete_touches | {
            Touch.AFTER_FORK: complete_touches[Touch.AFTER_FORK] + complete_touches[Touch.AGAIN],
            Touch.AGAIN: 0,
        }
    # If the short recording has none of these touches, the first touches of the long recording stay first touches.
    touch_shares = divide_total_by_weights(complete_touches, first_touches) or {Touch.FIRST: first_touches}
    for touch, faults in touch_shares.items():
        if faults:
            touches[touch] = touches.get(touch, 0) + faults
    sites = [part for site in sampled_anatomy.sites for part in _split_entry_by_touch(site, touch_shares)]
    sites.sort(key=lambda site: -site.faults)
    kinds: Counter[tuple[Memory, Touch, str]] = Counter()
    for kind in sampled_anatomy.kinds:
        for part in _split_entry_by_touch(kind, touch_shares):
            kinds[part.memory, part.touch, part.file] += part.faults
    access = divide_total_by_weights(complete_anatomy.by_access, sampled_anatomy.counted) or {
        Access.UNKNOWN: sampled_anatomy.counted
    }
    factor = sampled_anatomy.counted / complete_anatomy.counted if complete_anatomy.counted else 1.0
    return sampled_anatomy.model_copy(
        update={
            "by_touch": dict(sorted(touches.items(), key=lambda item: -item[1])),
            "by_access": access,
            "kinds": merge_small_files(kinds),
            "forks": forks,
            "sites": tuple(sites),
            "pages": round(complete_anatomy.pages * factor) if complete_anatomy.counted else sampled_anatomy.pages,
            "shared_pages": round(complete_anatomy.shared_pages * factor),
            "is_scaled": True,
            "period": 1,  # Like a recording of all faults, the result has all kinds of touches.
            **_scale_major_faults(complete_anatomy, factor),
        }
    )


def _scale_major_faults(anatomy: Anatomy, factor: float) -> dict[str, object]:
    """Return the fields of an anatomy about major faults, multiplied by a factor."""
    sites = (site.model_copy(update={"faults": round(site.faults * factor)}) for site in anatomy.major_sites)
    return {
        "major": round(anatomy.major * factor),
        "major_by_memory": {kind: round(faults * factor) for kind, faults in anatomy.major_by_memory.items()},
        "major_sites": tuple(site for site in sites if site.faults),
    }


def _split_entry_by_touch(entry: Entry, touch_shares: Mapping[Touch, int]) -> list[Entry]:
    """Divide an entry of first touches into the kinds of touches that a complete recording found; keep other entries.

    ``touch_shares`` contains the faults of each kind. Every entry is divided in their proportion.
    """
    if entry.touch is not Touch.FIRST:
        return [entry]
    shares = divide_total_by_weights(touch_shares, entry.faults) or {Touch.FIRST: entry.faults}
    return [entry.model_copy(update={"touch": touch, "faults": faults}) for touch, faults in shares.items() if faults]
