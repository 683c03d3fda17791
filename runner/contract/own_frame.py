"""Finds the frame of a stack that belongs to the subject's own code, to which its faults are attributed."""

import re
from collections.abc import Sequence

from runner.contract.function_names import get_qualified_name, shorten_name
from runner.contract.profile import COMPILED_MODULE, RUNTIME_MODULE, UNKNOWN_FUNCTION, Frame

_SYSTEM_PREFIXES = ("/usr/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/opt/", "[", RUNTIME_MODULE)
"""Prefixes of modules that do not belong to the subject."""
_FOREIGN_SOURCE = re.compile(r"^/(?:usr|lib(?:32|64|x32)?|opt|rustc)/|/\.cargo/|/pkg/mod/")
"""Paths of source files that belong to the system, to a toolchain or to packages."""
_STANDARD_LIBRARY = ("std::", "__gnu_cxx::")
"""The namespaces of C++'s standard library. GNU's addr2line can name a wrong file for a function inlined there."""
_MAX_PATH_CHARACTERS = 200
"""The longest path in a sentence. Debug information may contain paths of any length."""


def find_own_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the subject's own code; None if all frames belong to the kernel.

    If no frame is known to be own code, it is the innermost one outside the system's libraries, or else outside the
    kernel.

    A program also contains foreign code, such as C++ templates and libraries of Rust and Go. It is recognised by the
    paths of its source files, which are in folders of the system, of a toolchain or of packages.
    """
    user_frames = [frame for frame in frames if not frame.module.startswith("[")]
    own_frames = [frame for frame in user_frames if not frame.module.startswith(_SYSTEM_PREFIXES)]
    frames_with_own_source = [frame for frame in own_frames if _is_own_source(frame)]
    # The innermost frame is the last one.
    for candidates in (frames_with_own_source, own_frames, user_frames):
        if candidates:
            return candidates[-1]
    return None


def is_own_frame(frame: Frame) -> bool:
    """Return whether a frame belongs to the subject's own code, judging by its module and its source file."""
    return not frame.module.startswith(_SYSTEM_PREFIXES) and not (frame.file and _has_foreign_source(frame))


def find_own_line(frames: Sequence[Frame]) -> str:
    """Return the subject's innermost function in a stack, and its line; empty if unknown."""
    own_frame = find_own_frame(frames)
    if own_frame is None or own_frame.module.startswith(_SYSTEM_PREFIXES):
        return ""
    if own_frame.module == COMPILED_MODULE and own_frame.function != UNKNOWN_FUNCTION and not own_frame.line:
        # Code that was compiled at run time may have no known line, so only its function is returned.
        return shorten_name(own_frame.function)
    if not own_frame.line or not _is_own_source(own_frame):
        return ""
    return f"{shorten_name(own_frame.function)} at {shorten_source_path(own_frame.file)}:{own_frame.line}"


def shorten_source_path(file: str) -> str:
    """Return the path of a source file for display: relative to the work tree, or only the name of a file outside.

    If the path is too long for a sentence, only its end is returned.
    """
    path = file.rpartition("/")[2] if file.startswith("/") else file
    return path if len(path) <= _MAX_PATH_CHARACTERS else f"…{path[1 - _MAX_PATH_CHARACTERS :]}"


def _is_own_source(frame: Frame) -> bool:
    """Return whether the source file of a frame is known and belongs to the subject."""
    return bool(frame.file) and not _has_foreign_source(frame)


def _has_foreign_source(frame: Frame) -> bool:
    """Return whether a frame with a known line belongs to the system, to a toolchain or to packages."""
    return _FOREIGN_SOURCE.search(frame.file) is not None or (
        "::" in frame.function and get_qualified_name(frame.function).startswith(_STANDARD_LIBRARY)
    )
