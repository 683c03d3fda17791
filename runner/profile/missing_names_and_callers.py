"""Explains why a profile lacks names, source lines or callers, and what would help."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runner.contract.profile import UNKNOWN_FUNCTION, Frame
from runner.profile.elf import read_sections
from runner.profile.recording_plan import CallGraph
from runner.profile.stack_folding import WeightedStacks, is_user_frame

_MIN_SINGLE_FRAME_SHARE = 0.9
_MIN_STACKS = 10
"""The smallest number of stacks that is judged: fewer stacks may all come from the loader."""
_MAX_NAMED_FILES = 3
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
        names = _list_files(stripped_modules)
        yield f"{names}: stripped, so functions have no names; build without `strip`, `-s` or `--strip-all`"
    if modules_with_unread_lines:
        names = _list_files(modules_with_unread_lines)
        yield (
            f"{names}: no source lines could be read, although the debug information is there; `llvm-addr2line`, if "
            "installed, was tried too"
        )
    if modules_without_lines:
        yield f"{_list_files(modules_without_lines)}: no source lines; build with `-g`"


def _group_own_frames(frames: Iterable[Frame]) -> dict[str, list[Frame]]:
    """Return the frames of the program's own files, by file."""
    frames_by_module: dict[str, list[Frame]] = defaultdict(list)
    for frame in frames:
        if frame.module and not frame.module.startswith(("/", "[")):
            frames_by_module[frame.module].append(frame)
    return frames_by_module


def _list_files(files: list[str]) -> str:
    remainder = f" and {len(files) - _MAX_NAMED_FILES} more" if len(files) > _MAX_NAMED_FILES else ""
    return ", ".join(files[:_MAX_NAMED_FILES]) + remainder
