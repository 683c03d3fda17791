"""Finds the lines that lead to a difference in faults through what they call, in the stacks of two profiles."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from runner.contract.code_change import MAX_CHANGED_FILES, MAX_CHANGED_RANGES, LineRange
from runner.contract.diagnosis import ChangedPlace
from runner.contract.own_frame import is_own_frame
from runner.contract.profile import COMPILED_MODULE, Frame, Profile
from runner.contract.profile_difference import (
    FunctionKey,
    FunctionLine,
    WeightChange,
    compute_resolution,
    identify_function,
    pair_function_lines,
)
from service.rules.diagnose.place_text import format_place
from service.rules.diagnose.profile_facts import Facts

_ALLOCATOR = re.compile(
    r"(?:alloc|allocate|strdup|memdup|new_?obj(?:ect)?[a-z]{0,2})[_\d]*(?:\([^()]*\))?(?: const)?(?:\.[\w.]++)?\Z",
    re.IGNORECASE,
)
"""The end of the names of functions that allocate memory for their callers, such as ``xmalloc``, ``Pool::Alloc()`` and
``newobject``. They may have parameters, or a suffix of the compiler."""
_MIN_CALLER_SHARE = 0.5
"""A caller is named only if it has at least this share of the growth of an allocator."""
_MIN_LOCAL_SHARE = 0.9
"""If a changed line calls a changed allocator and has this share of its growth, the line is named: what changed in the
allocator itself would act on all of its callers."""
_MIN_CHANGED_SHARE, _MIN_CHANGED_CALLER_SHARE = 0.1, 0.2
"""A changed line is named only if it has at least the first share of the difference itself, or if it calls code with
the second: lines that only call are on many stacks."""
_MIN_CHANGED_FAULTS = 3
"""A changed line is named only if it has at least this many faults of the difference, or half of a smaller one: which
line is the first to touch a page also depends on what lies on it."""
_MIN_INNER_SHARE = 0.5
"""Of the changed lines that call one another, the innermost is named that has at least this share of the growth."""
_MAX_UNKNOWN_SHARE = 0.1
"""If more of the faults, or of their growth, have unknown lines or callers, or a difference of this share of the growth
cannot be resolved, nothing is said about all changed lines."""
_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|h\+\+|inc|inl|ipp|tpp|def)$")
ChangedLines = Mapping[str, tuple[LineRange, ...]]
"""The ranges of lines that a change altered, by file."""
_LineChange = tuple[FunctionLine, WeightChange]


class _CallingLines(Struct):
    """Lines of one profile, with the faults of the stacks on which they stand."""

    weights: defaultdict[FunctionKey, Counter[int]]
    depths: Counter[tuple[FunctionKey, int]]
    """The sum over these faults of the number of frames outside of the line."""

    def get_depth(self, place: FunctionLine) -> float:
        """Return the mean number of frames outside of a line after the change."""
        weight = self.weights[place.function_key][place.line_after]
        return self.depths[place.function_key, place.line_after] / max(1, weight)


def find_changed_place(
    changes: Iterable[_LineChange],
    profiles: tuple[Profile, Profile],
    is_line_changed: Callable[[str, int], bool],
    growth: int,
) -> ChangedPlace | None:
    """Return the changed line whose own faults grew most, or else the changed line that calls what faults more.

    If the program has fewer faults than before, the line whose own faults declined most, or that calls what faults
    less. None if no changed line has a large enough share of the difference to be named.

    Parameters
    ----------
    changes
        The lines with faults of their own, with their changes.
    profiles
        The profiles before and after.
    is_line_changed
        Returns whether a line of a file was changed.
    growth
        The whole difference in faults.
    """
    least = max(_MIN_CHANGED_SHARE * abs(growth), min(_MIN_CHANGED_FAULTS, abs(growth) / 2), 1)
    sign = -1 if growth < 0 else 1  # The growths below count as positive if they are in the direction of the whole.

    def is_named(place: FunctionLine) -> bool:
        return bool(place.line_after) and is_line_changed(place.function_key.file, place.line_after)

    growths: Counter[FunctionLine] = Counter()
    net_growths: Counter[FunctionKey] = Counter()
    for place, change in changes:
        net_growths[place.function_key] += sign * change.growth
        if is_named(place):
            growths[FunctionLine(place.function_key, 0, place.line_after)] += sign * change.growth
    # What a line gained from others of its function is no cause.
    growths = Counter({place: min(faults, net_growths[place.function_key]) for place, faults in growths.items()})
    largest_place = max(growths, key=lambda place: (growths[place], place), default=None)
    if largest_place is not None and growths[largest_place] >= least:
        caller = find_allocator_caller(largest_place, profiles, growth, least_share=_MIN_LOCAL_SHARE)
        if caller is not None and is_named(caller):
            return build_changed_place(caller, sign * growths[largest_place], is_caller=True)
        return build_changed_place(largest_place, sign * growths[largest_place], is_caller=False)
    least_of_caller = max(_MIN_CHANGED_CALLER_SHARE * abs(growth), least)
    return _find_changed_caller(profiles, is_named, sign, least_of_caller)


def _find_changed_caller(
    profiles: tuple[Profile, Profile], is_named: Callable[[FunctionLine], bool], sign: int, least: float
) -> ChangedPlace | None:
    """Return the changed line that calls what faults more; the innermost of those that call about as much.

    Parameters
    ----------
    is_named
        Returns whether a line is a changed one.
    sign
        1, or -1 if the program has fewer faults than before and the line is one that calls what faults less.
    least
        The smallest number of additional, or missing, faults.
    """
    before, after = (_sum_calling_lines(profile) for profile in profiles)
    growths_of_callers = {
        place: sign * change.growth
        for place, change in pair_function_lines(before.weights, after.weights)
        if is_named(place) and sign * change.growth >= max(least, 1 + _compute_resolution(profiles))
    }
    if not growths_of_callers:
        return None
    largest_growth = max(growths_of_callers.values())
    large_places = [
        place for place, faults in growths_of_callers.items() if faults >= _MIN_INNER_SHARE * largest_growth
    ]
    innermost = max(large_places, key=lambda place: (after.get_depth(place), place))
    return build_changed_place(innermost, sign * growths_of_callers[innermost], is_caller=True)


def find_changed_returning_place(
    facts: Facts, calls: Collection[str], is_line_changed: Callable[[str, int], bool]
) -> ChangedPlace | None:
    """Return the changed line that calls what gives memory back with given system calls.

    None if the stacks do not show one for most of these calls. Of the changed lines that call one another, it is the
    innermost.
    """
    frame = facts.find_returning_place(lambda frames: _find_changed_frame(frames, is_line_changed), *calls)
    return _build_calling_place(frame, gives_back=True) if frame else None


def find_changed_requesting_place(facts: Facts, is_line_changed: Callable[[str, int], bool]) -> ChangedPlace | None:
    """Return the changed line that calls what requests most of the memory that is touched for the first time.

    None if the stacks do not show one. Of the changed lines that call one another, it is the innermost.
    """
    frame = facts.find_requesting_place(lambda frames: _find_changed_frame(frames, is_line_changed))
    return _build_calling_place(frame, requests=True) if frame else None


def _find_changed_frame(frames: Sequence[Frame], is_line_changed: Callable[[str, int], bool]) -> Frame | None:
    """Return the innermost frame of the program whose line was changed; None if there is none."""
    changed_frames = (
        frame for frame in reversed(frames) if is_own_frame(frame) and is_line_changed(frame.file, frame.line)
    )
    return next(changed_frames, None)


def _build_calling_place(frame: Frame, *, gives_back: bool = False, requests: bool = False) -> ChangedPlace:
    place = FunctionLine(identify_function(frame), 0, frame.line)
    changed_place = build_changed_place(place, 0, is_caller=True)
    return changed_place.model_copy(update={"gives_back": gives_back, "requests": requests})


def is_change_indirect(profiles: tuple[Profile, Profile], changed_files: Collection[str], growth: int) -> bool:
    """Return whether a difference for which no changed line was found comes from none, because a line would be found.

    This requires that the profiles know nearly all lines and callers, count precisely, and show code of a changed file,
    or that it is a header, which may contain nothing but types.
    Lines of Python and Java do not stand on the stacks, and of code that a JIT compiled, only the beginning of the
    function is known.

    Parameters
    ----------
    profiles
        The profiles before and after.
    changed_files
        The files in which lines were added, rewritten or removed.
    growth
        By how many faults the program has more than before; negative if it has fewer.
    """
    before, after = profiles
    if not growth or any(profile.faults is None or profile.python_lines or profile.java_lines for profile in profiles):
        return False
    if any(frame.module == COMPILED_MODULE for profile in profiles for frame in profile.frames):
        return False
    is_precise = _compute_resolution(profiles) <= _MAX_UNKNOWN_SHARE * abs(growth)
    unknown_growth = _count_unknown_faults(after) - _count_unknown_faults(before)
    knows_growth = (
        all(_knows_callers(profile) for profile in profiles)
        and unknown_growth * growth <= _MAX_UNKNOWN_SHARE * growth * growth
    )
    own_files = {frame.file for frame in after.frames if is_own_frame(frame)}
    is_in_program = any(file in own_files or _HEADER.search(file) for file in changed_files)
    return is_precise and knows_growth and is_in_program


def _count_unknown_faults(profile: Profile) -> int:
    """Return how many faults have no line of the program on their stack."""
    return sum(weight for frames, weight in _list_own_stacks(profile) if not any(frame.line for frame in frames))


def _knows_callers(profile: Profile) -> bool:
    """Return whether nearly all faults have stacks with lines of the program that reach beyond the innermost function.

    Stacks that were unwound without frame pointers often end there, and many may have been lost.
    """
    stacks = profile.faults
    if stacks is not None and stacks.lost > _MAX_UNKNOWN_SHARE * (stacks.samples + stacks.lost):
        return False
    n_known = total = 0
    for frames, weight in _list_own_stacks(profile):
        if not frames:  # the loader, for example
            continue
        total += weight
        if any(frame.line for frame in frames) and (len(frames) > 1 or frames[0].function == "main"):
            n_known += weight
    return n_known >= (1 - _MAX_UNKNOWN_SHARE) * total > 0


def build_changed_place(place: FunctionLine, faults: int, *, is_caller: bool) -> ChangedPlace:
    """Return a line of the program as a part of a diagnosis, with the change of its faults."""
    return ChangedPlace(
        place=format_place(place),
        source_file=place.function_key.file,
        source_line=place.line_after,
        faults=faults,
        is_caller=is_caller,
        is_allocator=_is_allocator(place.function_key.function),
    )


def find_allocator_caller(
    place: FunctionLine, profiles: tuple[Profile, Profile], growth: int, least_share: float = _MIN_CALLER_SHARE
) -> FunctionLine | None:
    """Return the line for which an allocator of the program has more faults than before, or fewer.

    None if the place is not in such an allocator, or if no caller has a large enough share of the change.

    Parameters
    ----------
    growth
        The change of the faults of the place. Only its sign matters.
    """
    if not _is_allocator(place.function_key.function):
        return None
    callers = [_sum_allocator_callers(profile, place.function_key) for profile in profiles]
    resolution = _compute_resolution(profiles)
    growths = {
        caller: abs(change.growth)
        for caller, change in pair_function_lines(*callers)
        if change.growth * growth > 0 and abs(change.growth) > resolution
    }
    caller = max(growths, key=lambda caller: (growths[caller], caller), default=None)
    if caller is None or growths[caller] < least_share * sum(growths.values()):
        return None
    return caller


def find_own_caller(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the program that is in no function that allocates memory for its callers."""
    own_frames = (frame for frame in reversed(frames) if is_own_frame(frame) and frame.line)
    return next((frame for frame in own_frames if not _is_allocator(frame.function)), None)


def _sum_allocator_callers(profile: Profile, allocator: FunctionKey) -> defaultdict[FunctionKey, Counter[int]]:
    """Return the faults in an allocator, by the innermost line of the program outside of all its allocators."""
    callers: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
    for frames, weight in _list_own_stacks(profile):
        if frames and identify_function(frames[-1]) == allocator:
            caller = next((frame for frame in reversed(frames) if not _is_allocator(frame.function)), None)
            if caller is not None:
                callers[identify_function(caller)][caller.line] += weight
    return callers


def compare_innermost_lines(profiles: tuple[Profile, Profile]) -> list[_LineChange]:
    """Return the faults of each line before and after, including those in libraries that the line calls.

    Unlike the lines of a single cause, these come from the stacks alone, so that what one line gained in a library and
    another lost there does not cancel out.
    """
    sides: list[defaultdict[FunctionKey, Counter[int]]] = []
    for profile in profiles:
        lines: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
        for frames, weight in _list_own_stacks(profile):
            if frames:
                lines[identify_function(frames[-1])][frames[-1].line] += weight
        sides.append(lines)
    return pair_function_lines(*sides)


def compare_lines_outside_allocators(profiles: tuple[Profile, Profile]) -> list[_LineChange]:
    """Return the faults, before and after, of each line, with those of the allocators that it calls."""
    sides: list[defaultdict[FunctionKey, Counter[int]]] = []
    for profile in profiles:
        lines: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
        for frames, weight in _list_own_stacks(profile):
            if (frame := find_own_caller(frames)) is not None:
                lines[identify_function(frame)][frame.line] += weight
        sides.append(lines)
    return pair_function_lines(*sides)


def compare_calling_lines(profiles: tuple[Profile, Profile]) -> list[tuple[FunctionLine, WeightChange, float]]:
    """Return the faults, before and after, of the stacks that contain each line of the program.

    The last value is the mean number of frames outside of the line.
    """
    before, after = (_sum_calling_lines(profile) for profile in profiles)
    pairs = pair_function_lines(before.weights, after.weights)
    return [(place, change, after.get_depth(place)) for place, change in pairs]


def _sum_calling_lines(profile: Profile) -> _CallingLines:
    """Return the program's lines, with the faults of the stacks that contain them."""
    lines = _CallingLines(defaultdict(Counter), Counter())
    for frames, weight in _list_own_stacks(profile):
        # A stack can contain a line of a recursive function more than once. Its innermost position counts.
        depths = {(identify_function(frame), frame.line): depth for depth, frame in enumerate(frames)}
        for (function_key, line), depth in depths.items():
            lines.weights[function_key][line] += weight
            lines.depths[function_key, line] += depth * weight
    return lines


def _list_own_stacks(profile: Profile) -> Iterable[tuple[Sequence[Frame], int]]:
    """Yield the stacks of faults as far as they consist of the program's own frames, outermost first, with weights."""
    for stack in profile.faults.stacks if profile.faults else ():
        frames = [profile.frames[index] for index in stack.frames]
        yield [frame for frame in frames if is_own_frame(frame)], stack.weight


def _compute_resolution(profiles: tuple[Profile, Profile]) -> int:
    return max(compute_resolution(profile, "faults") for profile in profiles)


def _is_allocator(function: str) -> bool:
    """Return whether a function allocates memory for its callers, judging by its name."""
    return _ALLOCATOR.search(function) is not None


def is_changed(changed_lines: ChangedLines, file: str, line: int) -> bool:
    """Return whether a line of a file is one of the changed lines."""
    return any(first_line <= line <= last_line for first_line, last_line in changed_lines.get(file, ()))


def may_be_changed(changed_lines: ChangedLines, line: FunctionLine) -> bool:
    """Return whether a line was changed, or may have been removed: one without faults after the change may be gone."""
    file = line.function_key.file
    return is_changed(changed_lines, file, line.line_after) if line.line_after else file in changed_lines


def contains_all_changes(changed_lines: ChangedLines) -> bool:
    """Return whether the changed lines are known and complete: those of large changes are cut off."""
    n_ranges = sum(map(len, changed_lines.values()))
    return 0 < len(changed_lines) < MAX_CHANGED_FILES and n_ranges < MAX_CHANGED_RANGES
