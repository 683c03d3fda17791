"""Explains why a profile lacks names, source lines or callers, and what would help."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from runner.contract.function_names import shorten_name
from runner.contract.profile import UNKNOWN_FUNCTION, Frame, StackProfile
from runner.profile.elf import INTERPRETER_SEGMENT_KIND, read_sections, read_segments
from runner.profile.perf_record_options import CallGraph
from runner.profile.stack_folding import WeightedStacks, is_user_frame

_MIN_SINGLE_FRAME_SHARE = 0.9
_MIN_STACKS = 10
"""The smallest number of stacks that is judged: fewer stacks may all come from the loader."""
_MAX_NAMES = 3
_MIN_SHARE_WITHOUT_LINES = 0.05
"""A function without source lines is named if it causes at least this share of the faults or of the CPU time."""
_TOOLCHAIN_FUNCTION = re.compile(r"^(?:_|std::|operator )|@plt$")
"""The names of functions that a compiler and its libraries put into a program."""
_HINTS: Mapping[CallGraph, str] = {
    "dwarf": (
        "`--call-graph fp` finds the callers if the program keeps frame pointers, as do Go programs, and C programs "
        "that are built with -fno-omit-frame-pointer"
    ),
    "fp": (
        "build with frame pointers (-fno-omit-frame-pointer), or use `--call-graph dwarf` if the program has unwind "
        "tables"
    ),
    "lbr": "`--call-graph fp` or `--call-graph dwarf` may find the callers",
}


def has_no_callers(weighted_stacks: WeightedStacks) -> bool:
    """Return whether nearly all recorded stacks have only one frame of the program, apart from the kernel's frames."""
    depths = [(sum(map(is_user_frame, stack)), weight) for stack, weight in weighted_stacks.stacks.items()]
    user_weight = sum(weight for depth, weight in depths if depth)
    single_frame_weight = sum(weight for depth, weight in depths if depth == 1)
    return weighted_stacks.samples >= _MIN_STACKS and 0 < user_weight * _MIN_SINGLE_FRAME_SHARE <= single_frame_weight


def describe_missing_callers(kinds: Iterable[str], call_graph: CallGraph) -> Iterator[str]:
    """Yield one remark about the kinds of stacks that have no callers; nothing if there are none."""
    if names := " and ".join(kinds):
        yield (
            f"nearly all stacks of {names} have only one frame, so they show functions, but not their callers. "
            f"{_HINTS[call_graph]}"
        )


def describe_missing_symbols(frames: Iterable[Frame], tree: Path) -> Iterator[str]:
    """Yield remarks about files of the working tree whose functions or lines are unknown.

    Parameters
    ----------
    frames
        Frames in which modules in the tree have relative paths.
    """
    stripped_modules, modules_with_unread_lines, modules_without_lines = [], [], []
    for module, module_frames in sorted(_group_own_frames(frames).items()):
        sections = read_sections(tree / module)
        if sections is None or any(frame.line for frame in module_frames):
            continue
        if sections.has_lines:
            modules_with_unread_lines.append(module)
        elif sections.has_symbols:
            modules_without_lines.append(module)
        elif any(frame.function == UNKNOWN_FUNCTION for frame in module_frames):
            stripped_modules.append(module)
    if stripped_modules:
        names = _join_names(stripped_modules)
        yield f"{names}: stripped, so functions have no names; build without `strip`, `-s` or `--strip-all`"
    if modules_with_unread_lines:
        names = _join_names(modules_with_unread_lines)
        yield (
            f"{names}: no source lines could be read, although the debug information is there; `llvm-addr2line`, if "
            "installed, was tried too"
        )
    if modules_without_lines:
        yield f"{_join_names(modules_without_lines)}: no source lines; build with `-g`"


def describe_functions_without_lines(
    stack_profiles: Iterable[StackProfile], frames: Sequence[Frame], tree: Path
) -> Iterator[str]:
    """Yield a remark about each file of the tree of which some functions have source lines, and others do not.

    This is usually a library that was compiled without debug information and linked into a program that has it. Faults
    in these functions would seem to be those of the line that calls them.

    Parameters
    ----------
    stack_profiles
        The recorded faults and CPU times.
    frames
        The frames of their stacks, in which modules in the tree have relative paths.
    tree
        The working tree.
    """
    own_modules = _group_own_frames(frames)
    modules_with_lines = {module for module, own_frames in own_modules.items() if any(own.line for own in own_frames)}
    functions_with_lines = {(frame.module, frame.function) for frame in frames if frame.line}
    functions_by_module: dict[str, set[str]] = defaultdict(set)
    for stack_profile in stack_profiles:
        weights: Counter[tuple[str, str]] = Counter()
        for stack in stack_profile.stacks:
            function = next(_iterate_functions((frames[i] for i in reversed(stack.frames)), modules_with_lines), None)
            if function is not None:
                weights[function] += stack.weight
        for (module, function_name), weight in weights.items():
            is_known = (module, function_name) in functions_with_lines
            if not is_known and weight >= _MIN_SHARE_WITHOUT_LINES * stack_profile.total:
                functions_by_module[module].add(shorten_name(function_name))
    for module, names in sorted(functions_by_module.items()):
        if not _contains_c_library(tree / module):
            yield f"{module}: no source lines of {_join_names(sorted(names))}; compile their files with `-g` too"


def _iterate_functions(frames: Iterable[Frame], modules: set[str]) -> Iterator[tuple[str, str]]:
    """Yield module and name of the functions in given modules, except those of the compiler and its libraries."""
    for frame in frames:
        is_named = frame.function != UNKNOWN_FUNCTION and not _TOOLCHAIN_FUNCTION.search(frame.function)
        if is_named and frame.module in modules:
            yield frame.module, frame.function


def _contains_c_library(program: Path) -> bool:
    """Return whether a program is linked statically, so that it contains the C library, which has no source lines."""
    is_library = ".so" in program.name
    return not is_library and all(segment.kind != INTERPRETER_SEGMENT_KIND for segment in read_segments(program))


def _group_own_frames(frames: Iterable[Frame]) -> dict[str, list[Frame]]:
    """Return the frames of the program's own files, by file."""
    frames_by_module: dict[str, list[Frame]] = defaultdict(list)
    for frame in frames:
        if frame.module and not frame.module.startswith(("/", "[")):
            frames_by_module[frame.module].append(frame)
    return frames_by_module


def _join_names(names: list[str]) -> str:
    remainder = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + remainder
