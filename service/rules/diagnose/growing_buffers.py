"""Recognises a large buffer that grows by being copied repeatedly into a larger one.

Containers of C++ grow like this. glibc's realloc remaps a large block, which copies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_share
from runner.contract.own_frame import find_own_line
from runner.contract.profile import Frame, Stack, StackProfile
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import Rule

MIN_COPYING_SHARE = 0.2
"""Copying must cause at least this share of the faults; if a buffer doubles, it causes about half."""
MIN_COPIED_PAGES = 256
"""Buffers are large if copying them takes at least this many faults: 1 MiB."""
_GROWING = re.compile(
    r"(?:void |.*&? )?std::(?:__\w+::)*(?:vector|basic_string)<.*>::"
    r"(?:_M_realloc_(?:insert|append)|_M_default_append|_M_fill_insert|_M_range_insert|_M_insert_aux|_M_mutate"
    r"|__(?:push|emplace)_back_slow_path|__append|__grow_by\w*)\b.*"
)
_ALLOCATING = re.compile(r"operator new.*|(?:_int_|__libc_|je_|tc_)?(?:m|c)alloc|sysmalloc.*|(?:__GI_)?_*m(?:re)?map")


def _list_copying_stacks(facts: Facts, stacks: StackProfile | None) -> Iterator[Stack]:
    """Yield the stacks in which a growing buffer is copied, without those that allocate the larger buffer.

    The faults of the allocation are needed in any case.
    """
    if stacks is None:
        return
    frames = facts.profile.frames
    growing_frames = {index for index, frame in enumerate(frames) if _GROWING.fullmatch(frame.function)}
    allocating = {index for index, frame in enumerate(frames) if _ALLOCATING.fullmatch(frame.function)}
    for stack in stacks.stacks:
        if not growing_frames.isdisjoint(stack.frames) and allocating.isdisjoint(stack.frames):
            yield stack


def _count_copying_faults(facts: Facts) -> int:
    return sum(stack.weight for stack in _list_copying_stacks(facts, facts.profile.faults))


def _grows_by_copying(facts: Facts) -> bool:
    """Return whether copying growing buffers causes a large share of the faults."""
    faults = _count_copying_faults(facts)
    return faults >= MIN_COPIED_PAGES and faults >= MIN_COPYING_SHARE * facts.faults


def _estimate_reserve_saving(facts: Facts) -> float:
    """Return the share of the CPU time in copying, including its faults: a buffer of the right size is never copied."""
    on_cpu = facts.profile.on_cpu
    if not facts.timed or on_cpu is None:
        return 0.0
    return sum(stack.weight for stack in _list_copying_stacks(facts, on_cpu)) / on_cpu.total


def _describe_growth(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the faults of the copying, its price, and the line of the program whose buffer grows."""
    faults = _count_copying_faults(facts)
    heaviest_stack = max(
        _list_copying_stacks(facts, facts.profile.faults), key=lambda stack: stack.weight, default=None
    )
    frames: list[Frame] = [facts.profile.frames[index] for index in heaviest_stack.frames] if heaviest_stack else []
    line = find_own_line(frames)
    return (
        f"{faults:,} of {facts.faults:,} faults come from copying buffers into larger ones",
        f"copying takes {format_share(_estimate_reserve_saving(facts))} of the CPU time",
        *([f"the stack with the most of these faults grows its buffer in {line}"] if line else []),
    )


GROWING_BUFFER = Rule(
    name="growing-buffer",
    title="A large buffer is copied each time it grows",
    condition=_grows_by_copying,
    max_saving=_estimate_reserve_saving,
    evidence=_describe_growth,
    remedies=lambda _: (
        Remedy(text="set the size of the buffer before you fill it: reserve(), with_capacity, or one allocation"),
        Remedy(text="if the size is unknown, keep and clear() the buffer, or use blocks that do not move (std::deque)"),
    ),
    report="a vector that doubles its size: the old block is copied into new pages, each of which faults",
    count=_count_copying_faults,
)
