"""Sums the faults of a profile by cause, by cause and line, and by file of the program.

The causes come from the table of memory, touch and file, which contains every fault; the lines come from the places
with the most faults. A fault in a library belongs to the line of the program that called it. The places do not name
their callers, and the recorded stacks do not name the memory. Therefore the faults that a library function has on only
one side are attributed to the lines that call it more often on this side; its other faults are distributed among its
callers by their shares.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from runner.contract.diagnosis import (
    FaultCause,
)
from runner.contract.own_frame import find_own_frame, is_own_frame
from runner.contract.profile import (
    COMPILED_MODULE,
    AllocatingLine,
    FaultKind,
    Frame,
    Memory,
    Profile,
    PythonLine,
    Site,
    Touch,
)
from runner.contract.profile_difference import (
    FunctionKey,
    FunctionLine,
    WeightChange,
    compute_resolution,
    identify_function,
    pair_function_lines,
)
from service.rules.diagnose.place_text import replace_numbers
from service.rules.diagnose.profile_facts import OWN_MEMORY, Facts, is_image_file

_MILLION = 1_000_000
_C_LIBRARY = re.compile(r"/(?:libc|ld)[-.\w]*\.so[\d.]*(?: \(deleted\))?$")
_TOUCHED_BEFORE = {
    Touch.AFTER_MADVISE: FaultCause.AFTER_MADVISE,
    Touch.AFTER_MUNMAP: FaultCause.AFTER_MUNMAP,
    Touch.AFTER_BRK: FaultCause.AFTER_BRK,
    Touch.AFTER_READ: FaultCause.AFTER_READ,
}
_FIRST_TOUCHED = {Memory.STACK: FaultCause.STACK, Memory.STATIC: FaultCause.STATIC_DATA}
Group = tuple[FaultCause, str]
"""A cause, and the file that it concerns; empty if it concerns none."""
_LineSums = Mapping[FunctionKey, Mapping[int, int]]
_FaultsInLibraries = Mapping["_LibraryFunction", Counter["_Kind"]]


class _Kind(NamedTuple):
    """The facts that decide to which cause and to which lines the faults of a place belong.

    Attributes
    ----------
    is_own_memory
        Whether the faults are in the program's own memory, which a runtime touches on behalf of the program's lines.
    is_copy
        Whether the faults are copies after a fork.
    """

    group: Group
    is_own_memory: bool
    is_copy: bool


class _CallingLine(Struct, frozen=True):
    """A line of the program that calls a library function, with the faults in this function according to its stacks.

    Attributes
    ----------
    shared
        The number of faults that the other profile has as well.
    excess
        The number of faults that only this profile has.
    """

    frame: Frame
    shared: int
    excess: int


_LibraryFunction = tuple[str, str]
"""The name of a library function, and the file name of its module."""
_Callers = Mapping[_LibraryFunction, Sequence[_CallingLine]]


class Side(Struct, frozen=True):
    """The faults of one profile: by cause, by cause and line, and by file of the program's image."""

    sums: Counter[Group]
    lines: Mapping[Group, _LineSums]
    image_files: Counter[str]
    """The faults on pages of the program and its libraries, by file."""
    image_texts: Counter[str]
    """Those of them that are on code, by file."""


def pair_lines(group: Group, sides: list[Side]) -> list[tuple[FunctionLine, WeightChange]]:
    """Return the lines with faults of one cause, with their changes."""
    return pair_function_lines(*(side.lines.get(group, {}) for side in sides))


def classify_cause(memory: Memory, touch: Touch, *, is_image: bool) -> FaultCause:  # noqa: PLR0911 - one return per cause
    """Return why a page faulted, given its kind of memory and what was there before the touch."""
    if memory is Memory.OTHER:
        return FaultCause.OTHER
    if touch is Touch.AGAIN:
        return FaultCause.AGAIN
    # Data of the image that a forked process writes to is copied, like any other memory.
    if is_image and not (touch is Touch.AFTER_FORK and memory is Memory.FILE_DATA):
        return FaultCause.IMAGE
    if touch is Touch.AFTER_FORK:
        return FaultCause.COPIED
    if memory in {Memory.FILE_TEXT, Memory.FILE_DATA}:
        return FaultCause.FILE_PAGES
    if touch in _TOUCHED_BEFORE:
        return _TOUCHED_BEFORE[touch]
    if touch is not Touch.FIRST:
        return FaultCause.UNKNOWN_TOUCH
    return _FIRST_TOUCHED.get(memory, FaultCause.NEW_MEMORY)


def _find_group(entry: FaultKind | Site, facts: Facts) -> Group:
    """Return the cause of faults of a kind, and the file if they are on a mapped file."""
    cause = classify_cause(entry.memory, entry.touch, is_image=is_image_file(facts.profile, entry.memory, entry.file))
    # Files whose names differ only in a number, such as a process id, count as one.
    return cause, replace_numbers(entry.file) if cause is FaultCause.FILE_PAGES else ""


def _classify_kind(site: Site, facts: Facts) -> _Kind:
    """Return the facts that decide to which cause and to which lines the faults of a site belong."""
    return _Kind(_find_group(site, facts), site.memory in OWN_MEMORY, _is_copy(site))


def sum_sides(before: Facts, after: Facts) -> list[Side]:
    """Return the faults of both profiles by cause, and by cause and the program's own line."""
    sides_of_callers = _find_callers(before.profile, after.profile)
    faults_in_libraries = [
        _sum_faults_in_libraries(facts, callers)
        for facts, callers in zip((before, after), sides_of_callers, strict=True)
    ]
    return [
        _sum_side(facts, callers, faults, other_faults)
        for facts, callers, faults, other_faults in zip(
            (before, after), sides_of_callers, faults_in_libraries, reversed(faults_in_libraries), strict=True
        )
    ]


def _sum_side(
    facts: Facts, callers: _Callers, faults_in_libraries: _FaultsInLibraries, other_faults: _FaultsInLibraries
) -> Side:
    """Return the faults of a profile by cause, and by cause and the program's own line.

    The faults of each library function, by kind, are compared with those in the other profile.
    """
    sums: Counter[Group] = Counter()
    image_files: Counter[str] = Counter()
    image_texts: Counter[str] = Counter()
    for kind in facts.anatomy.kinds:
        group = _find_group(kind, facts)
        sums[group] += kind.faults
        cause, _ = group
        if cause is FaultCause.IMAGE:
            image_files[kind.file] += kind.faults
            if kind.memory is Memory.FILE_TEXT:
                image_texts[kind.file] += kind.faults
    lines: dict[Group, defaultdict[FunctionKey, Counter[int]]] = {}
    shares_of_lines, shares_of_copying_lines = _find_lines_in_runtime(facts)

    def add_faults(kind: _Kind, frame: Frame, faults: int) -> None:
        """Add faults to the line of a frame, or to the lines on whose behalf a runtime touched memory there."""
        shares: Mapping[Frame, int] = {}
        if kind.is_own_memory and not _has_own_line(frame):
            shares = shares_of_copying_lines if kind.is_copy else shares_of_lines
        for line, n_faults in _distribute_by_shares(faults, shares, frame):
            lines.setdefault(kind.group, defaultdict(Counter))[identify_function(line)][line.line] += n_faults

    # Places outside of libraries, or without known callers.
    for site in facts.anatomy.sites:
        if not _has_callers(site.frame, callers):
            add_faults(_classify_kind(site, facts), site.frame, site.faults)
    # Library functions: faults that only this profile has belong to the lines that call more often in it.
    for function, faults_by_kind in faults_in_libraries.items():
        other_faults_by_kind = other_faults.get(function, Counter())
        excess_by_kind = {kind: max(0, faults - other_faults_by_kind[kind]) for kind, faults in faults_by_kind.items()}
        excess_share = _compute_excess_share(callers[function], sum(excess_by_kind.values()))
        for fault_kind, faults in faults_by_kind.items():
            n_excess = round(excess_by_kind[fault_kind] * excess_share)
            for frame, n_faults in _attribute_to_callers(callers[function], faults - n_excess, n_excess):
                add_faults(fault_kind, frame, n_faults)
    return Side(sums, lines, image_files, image_texts)


def _find_callers(before: Profile, after: Profile) -> list[_Callers]:
    """Return, for each of the two profiles, the program's lines that call each library function with faults.

    The lines of a function in the two profiles are paired in order. A difference within the sampling error is no
    excess.
    """
    weights = [_sum_callers(profile) for profile in (before, after)]
    resolution = max(compute_resolution(profile, "faults") for profile in (before, after))
    sides: list[dict[_LibraryFunction, list[_CallingLine]]] = [{}, {}]
    for function in weights[0].keys() | weights[1].keys():
        frames = [
            {(identify_function(frame), frame.line): frame for frame in side.get(function, ())} for side in weights
        ]
        line_sums = [_sum_caller_lines(side.get(function, Counter())) for side in weights]
        for place, change in pair_function_lines(*line_sums):
            for side, frames_of_line, line, weight, other_weight in (
                (sides[0], frames[0], place.line_before, change.before, change.after),
                (sides[1], frames[1], place.line_after, change.after, change.before),
            ):
                frame = frames_of_line.get((place.function_key, line))
                if frame is not None and weight:
                    excess = weight - other_weight if weight - other_weight > resolution else 0
                    side.setdefault(function, []).append(_CallingLine(frame, weight - excess, excess))
    return list(sides)


def _sum_callers(profile: Profile) -> dict[_LibraryFunction, Counter[Frame]]:
    """Return the weights of the stacks by the library function that faults and the program's frame that led to it."""
    callers: defaultdict[_LibraryFunction, Counter[Frame]] = defaultdict(Counter)
    for stack in profile.faults.stacks if profile.faults else ():
        frames = [profile.frames[index] for index in stack.frames]
        responsible_frame = _find_responsible_frame(frames)
        if responsible_frame is not None:
            callers[_identify_library_function(frames[-1])][responsible_frame] += stack.weight
    return callers


def _sum_caller_lines(weights: Mapping[Frame, int]) -> dict[FunctionKey, Counter[int]]:
    """Return the weights of frames by function and line."""
    lines: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
    for frame, weight in weights.items():
        lines[identify_function(frame)][frame.line] += weight
    return lines


def _sum_faults_in_libraries(facts: Facts, callers: _Callers) -> _FaultsInLibraries:
    """Return the faults, by kind, of the library functions that have callers in the program."""
    faults: defaultdict[_LibraryFunction, Counter[_Kind]] = defaultdict(Counter)
    for site in facts.anatomy.sites:
        if _has_callers(site.frame, callers):
            faults[_identify_library_function(site.frame)][_classify_kind(site, facts)] += site.faults
    return dict(faults)


def _has_callers(frame: Frame, callers: _Callers) -> bool:
    """Return whether a frame is in a library function whose calling lines in the program are known."""
    return not is_own_frame(frame) and _identify_library_function(frame) in callers


def _compute_excess_share(callers: Sequence[_CallingLine], excess: int) -> float:
    """Return the share of a function's excess faults that the excess of its callers explains, at most 1.

    If faults only move from one cause to another, no caller has an excess, so the share is 0.
    """
    if not excess:
        return 0.0
    return min(1.0, sum(caller.excess for caller in callers) / excess)


def _attribute_to_callers(callers: Sequence[_CallingLine], n_shared: int, n_excess: int) -> Iterable[tuple[Frame, int]]:
    """Yield the calling lines with their faults.

    The excess faults are distributed in proportion to the excess of the callers, and the shared faults in proportion to
    the shared faults of the callers, or also to their excess if none has shared faults.
    """
    excesses = Counter({caller.frame: caller.excess for caller in callers})
    shared_faults = Counter({caller.frame: caller.shared for caller in callers})
    weights_of_shared = shared_faults if shared_faults.total() else excesses
    for n_faults, weights in ((n_excess, excesses), (n_shared, weights_of_shared)):
        yield from _distribute(n_faults, dict(weights.most_common()), max(1, weights.total()))


def _find_lines_in_runtime(facts: Facts) -> tuple[Counter[Frame], Counter[Frame]]:
    """Return the lines on whose behalf a runtime touches the program's own memory, with their shares of the faults.

    These are the lines of a Python program that fault, and the lines of a Java program that allocate. The first shares,
    in parts per million, are of the faults that are not copies, the second of the copies. Touches after a fork count as
    copies, up to the number of copies.
    """
    lines = facts.profile.python_lines
    n_copies = sum(kind.faults for kind in facts.anatomy.kinds if _is_copy(kind))
    n_other_faults = sum(kind.faults for kind in facts.anatomy.kinds if kind.memory in OWN_MEMORY) - n_copies
    copied_share = min(1.0, n_copies / max(1, sum(line.after_fork for line in lines)))
    copies_of_line = {_build_line_frame(line): line.after_fork * copied_share for line in lines}
    others_of_line = {
        _build_line_frame(line): line.faults - min(line.faults, line.after_fork) * copied_share for line in lines
    }
    # A Java profile knows the allocated bytes of a line, not its faults: each page of them counts as one fault.
    others_of_line |= {_build_line_frame(line): line.bytes / facts.page_size for line in facts.profile.java_lines}
    return _convert_to_shares(others_of_line, n_other_faults), _convert_to_shares(copies_of_line, n_copies)


def _is_copy(entry: FaultKind | Site) -> bool:
    return entry.memory in OWN_MEMORY and entry.touch is Touch.AFTER_FORK


def _build_line_frame(line: PythonLine | AllocatingLine) -> Frame:
    return Frame(function=line.function, module=COMPILED_MODULE, file=line.file, line=line.line)


def _convert_to_shares(faults_of_line: Mapping[Frame, float], n_counted: int) -> Counter[Frame]:
    """Return the shares of lines in the counted faults, in parts per million.

    If the lines together have more faults than were counted, their sum is used instead, so that the shares do not add
    up to more than one.
    """
    total = max(1.0, n_counted, sum(faults_of_line.values()))
    return Counter({frame: int(faults * _MILLION / total) for frame, faults in faults_of_line.items() if int(faults)})


def _has_own_line(frame: Frame) -> bool:
    return is_own_frame(frame) and bool(frame.line)


def _distribute_by_shares(
    faults: int, shares: Mapping[Frame, int], remaining_frame: Frame
) -> Iterable[tuple[Frame, int]]:
    """Yield lines with their parts of some faults, given shares in parts per million; the rest goes to one frame."""
    distributed_faults = list(_distribute(faults, shares, _MILLION))
    yield from distributed_faults
    yield remaining_frame, faults - sum(n_faults for _, n_faults in distributed_faults)


def _distribute(faults: int, weights: Mapping[Frame, int], total: int) -> Iterable[tuple[Frame, int]]:
    """Yield frames with their parts of some faults, in proportion to their weights out of ``total``.

    If rounding makes the sum of the parts too large, the last parts are reduced.
    """
    n_remaining = faults
    for frame, weight in weights.items():
        n_faults = min(n_remaining, round(faults * weight / total))
        n_remaining -= n_faults
        yield frame, n_faults


def _find_responsible_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the program itself; if there is none, the innermost outside of the C library.

    None if the kernel has all frames.
    """
    # Without an own frame, this is a frame of a library.
    own_or_library_frame = find_own_frame(frames)
    if own_or_library_frame is None or is_own_frame(own_or_library_frame):
        return own_or_library_frame
    frames_outside_c_library = (
        frame
        for frame in reversed(frames)
        if not _C_LIBRARY.search(frame.module) and not frame.module.startswith("[")  # such as [kernel] and [vdso]
    )
    return next(frames_outside_c_library, own_or_library_frame)


def _identify_library_function(frame: Frame) -> _LibraryFunction:
    # In stacks, the kernel has another name than at places.
    is_in_kernel = frame.module.startswith("[kernel")
    return frame.function, "[kernel]" if is_in_kernel else frame.module.rpartition("/")[2]
