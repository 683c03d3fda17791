"""Scales what was recorded for a part of the time to all of it. Pure; every table still adds up."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from runner.contract.profile import Anatomy

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
