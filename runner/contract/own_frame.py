"""Finds the frame of a stack that belongs to the subject's own code, to which its faults are attributed."""

import re
from collections.abc import Sequence

from runner.contract.function_names import shorten_name
from runner.contract.profile import COMPILED_MODULE, RUNTIME_MODULE, UNKNOWN_FUNCTION, Frame

_SYSTEM_PREFIXES = ("/usr/", "/lib", "/opt/", "[", RUNTIME_MODULE)
"""Prefixes of modules that do not belong to the subject."""
_FOREIGN_SOURCE = re.compile(r"^/(?:usr|lib\w*|opt|rustc)/|/\.cargo/|/pkg/mod/")
"""Source files of the system, of a toolchain, or of packages."""
_MAX_PATH_CHARACTERS = 200
"""The longest path in a sentence; a program's debug information can hold any."""


def find_own_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the subject's own code; None if there are only frames of the kernel.

    Without own code, it is the innermost frame outside the system's libraries, or else outside the kernel.

    A program also contains foreign code: templates of C++, and libraries of Rust and Go. The paths of source files tell
    them apart: those of the subject are relative to its work tree, and a driver is beside its workload.
    """
    user_frames = [frame for frame in frames if not frame.module.startswith("[")]
    own_frames = [frame for frame in user_frames if not frame.module.startswith(_SYSTEM_PREFIXES)]
    frames_with_own_source = [frame for frame in own_frames if _is_own_source(frame)]
    # The frames are sorted, the outermost first.
    for candidates in (frames_with_own_source, own_frames, user_frames):
        if candidates:
            return candidates[-1]
    return None


def is_own_frame(frame: Frame) -> bool:
    """Return whether a frame belongs to the subject's own code, as far as its module and its source file show."""
    return not frame.module.startswith(_SYSTEM_PREFIXES) and not (frame.file and _FOREIGN_SOURCE.search(frame.file))


def find_own_line(frames: Sequence[Frame]) -> str:
    """Return the subject's innermost function in a stack, and its line; empty if unknown."""
    own_frame = find_own_frame(frames)
    if own_frame is None:
        return ""
    if own_frame.module == COMPILED_MODULE and own_frame.function != UNKNOWN_FUNCTION and not own_frame.line:
        # Code that was compiled at run time is in no file, so its function says where it belongs.
        return shorten_name(own_frame.function)
    if not own_frame.line or not _is_own_source(own_frame):
        return ""
    return f"{shorten_name(own_frame.function)} at {shorten_source_path(own_frame.file)}:{own_frame.line}"


def shorten_source_path(file: str) -> str:
    """Return the path of a source file as it is shown: relative to the work tree, or the name of a file outside.

    Of a path that is too long for a sentence, only the end is returned.
    """
    path = file.rpartition("/")[2] if file.startswith("/") else file
    return path if len(path) <= _MAX_PATH_CHARACTERS else f"…{path[1 - _MAX_PATH_CHARACTERS :]}"


def _is_own_source(frame: Frame) -> bool:
    """Return whether the source file of a frame is known and belongs to the subject."""
    return bool(frame.file) and not _FOREIGN_SOURCE.search(frame.file)
