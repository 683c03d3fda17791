"""Adds to stacks the functions whose last act is a changed call.

A compiler replaces a call that ends a function by a jump (a tail call). The function is then missing on the stacks of
what it calls, so that a changed line such as ``malloc_trim(0);`` at its end would never be found.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from runner.contract.code_change import ChangedCall
from runner.contract.function_names import has_name
from runner.contract.own_frame import is_own_frame
from runner.contract.profile import Frame, Profile, StackProfile
from runner.contract.profile_difference import FunctionKey, identify_function

_C_LIBRARY_NAME = re.compile(
    r"_*(?:GI_+)?(?:libc_)?(?P<name>[A-Za-z]\w*?)(?:_(?:sse|ssse|avx|evex|erms|neon|sve|unaligned)\w*)?(?:@.*)?"
)
"""A function of the C library, which has several names, such as ``__GI___libc_free`` or ``__memset_avx2_unaligned``."""
_Edge = tuple[int, int]
"""The indexes of two successive frames of a stack: a caller and what it calls."""


def insert_tail_callers(after: Profile, before: Profile, changed_calls: Collection[ChangedCall]) -> Profile:
    """Return a profile with the frames of changed calls that a compiler has replaced by jumps.

    A frame is inserted between a line of the program and a function that this line's function did not call before, if a
    single changed line calls this function, and the line of the program also calls the function that contains the
    changed line, according to the stacks or to the sources.

    Parameters
    ----------
    changed_calls
        The calls in changed lines, of functions that only one of these lines calls.
    """
    if not changed_calls:
        return after
    calls_by_callee = {call.callee: call for call in changed_calls}
    edges_before = _name_edges(before.frames, _list_edges(before))
    edges = _list_edges(after)
    callees: defaultdict[int, set[str]] = defaultdict(set)
    for outer, inner in edges:
        callees[outer].add(after.frames[inner].function)

    frames = list(after.frames)
    inserted_frames: dict[_Edge, int] = {}
    for outer, inner in sorted(edges):
        caller, callee = after.frames[outer], after.frames[inner].function
        call = calls_by_callee.get(callee) or calls_by_callee.get(find_source_name(callee))
        if call is None or not is_own_frame(caller) or (identify_function(caller), callee) in edges_before:
            continue
        is_caller_site = any((site.file, site.line) == (caller.file, caller.line) for site in call.caller_sites)
        calls_caller = is_caller_site or any(has_name(name, call.caller) for name in callees[outer])
        if has_name(caller.function, call.caller) or not calls_caller:
            continue
        inserted_frames[outer, inner] = len(frames)
        frames.append(Frame(function=call.caller, module=caller.module, file=call.file, line=call.line))
    if not inserted_frames:
        return after
    profiles = {
        name: _insert_frames(profile, inserted_frames)
        for name in ("faults", "on_cpu", "off_cpu", "returned", "requested")
        if (profile := getattr(after, name)) is not None
    }
    return after.model_copy(update={"frames": tuple(frames), **profiles})


def _list_edges(profile: Profile) -> set[_Edge]:
    """Return all successive frames of a profile's stacks."""
    return {edge for kind in profile.stack_profiles for stack in kind.stacks for edge in pairwise(stack.frames)}


def _name_edges(frames: Sequence[Frame], edges: Collection[_Edge]) -> set[tuple[FunctionKey, str]]:
    """Return the calling function and the name of the called one of each edge."""
    return {(identify_function(frames[outer]), frames[inner].function) for outer, inner in edges}


def find_source_name(function: str) -> str:
    """Return the name by which a program calls a function: without class, parameters and a library's affixes."""
    match = _C_LIBRARY_NAME.fullmatch(function.partition("(")[0].rpartition("::")[2])
    name = match["name"] if match else function
    return "free" if name == "cfree" else name


def _insert_frames(profile: StackProfile, inserted_frames: Mapping[_Edge, int]) -> StackProfile:
    """Return stacks with a frame inserted at each of the given edges."""
    stacks = []
    for stack in profile.stacks:
        frames = list(stack.frames[:1])
        for edge in pairwise(stack.frames):
            if edge in inserted_frames:
                frames.append(inserted_frames[edge])
            frames.append(edge[1])
        is_longer = len(frames) > len(stack.frames)
        stacks.append(stack.model_copy(update={"frames": tuple(frames)}) if is_longer else stack)
    return profile.model_copy(update={"stacks": tuple(stacks)})
