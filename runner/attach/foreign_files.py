"""Gives the tools that read recordings access to the files of a process with a file system of its own (a container).

Its files cannot be bind-mounted, because its mounts belong to another namespace. They are therefore copied into a tmpfs
that only the tool sees, and that disappears when the tool ends.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from runner.attach.live_program import LiveProgram
from runner.execution.confined_readers import build_reader_prefix
from runner.profile.source_lines import SourceLine, SourceLineCache, find_source_lines
from runner.profile.stack_folding import FindLines

_FOLDER = "/mnt"
"""The folder in which the tools find the copies."""
_COPY_SCRIPT = """mount -t tmpfs -o size=2g,mode=755 none "$1" || exit 1
folder=$1; root=$2; shift 2
while [ "$1" != -- ]; do
    if [ -f "$root$1" ]; then mkdir -p "$folder${1%/*}"; timeout 10 cp "$root$1" "$folder$1" 2>/dev/null; fi
    shift
done
shift
exec "$@"
"""
"""Mounts a tmpfs on a folder (the first argument), copies files below a root (the second) into it up to ``--``, and
executes the command after it. The files keep their paths below the folder; a missing one is left out."""


class FileView(Struct, frozen=True):
    """How tools read the files of a program.

    Attributes
    ----------
    sandbox_prefix
        The command words before a tool, which run it in a sandbox with the files.
    options
        The options of ``perf script`` that name the folder of the files.
    find_lines
        Finds the source lines at offsets of a file, given the file's path as the program sees it.
    """

    sandbox_prefix: list[str]
    find_lines: FindLines
    options: tuple[str, ...] = ()


def can_read_files(program: LiveProgram) -> bool:
    """Return whether this user can read the files of a program, even if it sees other files than this host's."""
    return not program.has_own_files or (os.geteuid() == 0 and Path(program.root).exists())


def make_file_view(program: LiveProgram) -> FileView:
    """Return how tools can read the files of a program: as they are, as copies, or not at all.

    Copies are needed if the program sees other files than this host's. If this user cannot read those, functions have
    no names, and there are no source lines.
    """
    sandbox_prefix = build_reader_prefix(sandbox=None)
    if not program.has_own_files:
        return FileView(sandbox_prefix, partial(SourceLineCache().find, sandbox_prefix=sandbox_prefix))
    if not can_read_files(program):
        # This host's files with the same paths would give wrong names, so perf gets a folder that does not exist.
        return FileView(
            sandbox_prefix,
            find_lines=lambda _module, _offsets: {},
            options=("--symfs", "/nonexistent", *_KERNEL_NAMES),
        )
    # The words after the root are the files to copy into the folder; those after "--" are the command to run then.
    copy_command = (
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        _COPY_SCRIPT,
        "sh",
        _FOLDER,
        program.root,
    )

    def find_lines(module: str, offsets: Iterable[int]) -> Mapping[int, tuple[SourceLine, ...]]:
        prefix = [*copy_command, module, "--", *sandbox_prefix]
        return find_source_lines(f"{_FOLDER}{module}", offsets, prefix, file=program.get_outside_path(module))

    return FileView(
        [*copy_command, *program.modules, "--", *sandbox_prefix], find_lines, ("--symfs", _FOLDER, *_KERNEL_NAMES)
    )


_KERNEL_NAMES: Sequence[str] = ("--kallsyms", "/proc/kallsyms")
"""Options with which perf reads the names of the kernel's functions from this host, in spite of ``--symfs``."""
