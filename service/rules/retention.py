"""What is left of a report or a profile once it is old. Pure."""

from __future__ import annotations

from runner.contract import Report
from runner.contract.profile import Frame, Profile, Stack, StackProfile

_STACKS = 200
"""The heaviest of each kind that stay."""
_REST = Frame(function="[lighter stacks, put together by retention]")


def thin_report(report: Report) -> Report:
    """Return a report without perf's own output, the readings of single processes, and logs.

    Everything that a level, a drift or a page's number comes from stays.
    """
    samples = tuple(sample.model_copy(update={"perf_output": "", "processes": ()}) for sample in report.samples)
    build = report.build and report.build.model_copy(update={"log": ""})
    failure = report.failure and report.failure.model_copy(update={"log": ""})
    return report.model_copy(update={"samples": samples, "build": build, "failure": failure})


def thin_profile(profile: Profile) -> Profile:
    """Return a profile with its heaviest stacks; the others are put together into one, so that every sum stays."""
    frames = (*profile.frames, _REST)
    thinned = {
        name: _heaviest(stacks, len(profile.frames))
        for name in ("faults", "on_cpu", "off_cpu")
        if (stacks := getattr(profile, name)) is not None
    }
    used = sorted({place for one in thinned.values() for stack in one.stacks for place in stack.frames})
    places = {old: new for new, old in enumerate(used)}
    renamed = {name: _renamed(one, places) for name, one in thinned.items()}
    return profile.model_copy(update={**renamed, "frames": tuple(frames[place] for place in used)})


def _heaviest(profile: StackProfile, rest: int) -> StackProfile:
    by_weight = sorted(profile.stacks, key=lambda stack: -stack.weight)
    kept, left = by_weight[:_STACKS], by_weight[_STACKS:]
    if left:
        kept.append(Stack(frames=(rest,), weight=sum(stack.weight for stack in left)))
    return profile.model_copy(update={"stacks": tuple(kept)})


def _renamed(profile: StackProfile, places: dict[int, int]) -> StackProfile:
    stacks = tuple(
        stack.model_copy(update={"frames": tuple(places[place] for place in stack.frames)}) for stack in profile.stacks
    )
    return profile.model_copy(update={"stacks": stacks})
