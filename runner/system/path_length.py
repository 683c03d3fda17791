"""Paths that programs see have the same length in every data folder.

A program keeps the path of its script, of its own file or of its folder on its heap, so a longer data folder can cost
it another page. Measured: one case of the history of Lua counts 2,914 faults below one folder and 2,809 below another.

The length must not break what works at shorter paths. The narrowest usual limits are 107 bytes for the address of a
socket, 127 for the first line of a script and 132 for a line of Fortran, each with some room for a name in the folder.
"""

import os
from pathlib import Path

_LENGTH_STEP_BYTES = 96
_PADDING_CHARACTER = "_"
_LONGEST_SUFFIX = "/trusted/0123456789ab-0123456789abcdef-0/tree"
"""The longest of the paths that are padded, below the folder of the builds: the tree of a build."""


def compute_path_length(builds: Path) -> int:
    """Return the length in bytes to which all paths that programs see are padded.

    It depends on that folder alone, and is 96 or a multiple.
    """
    return -(-len(os.fsencode(builds) + os.fsencode(_LONGEST_SUFFIX)) // _LENGTH_STEP_BYTES) * _LENGTH_STEP_BYTES


def pad_path(folder: Path, name: str, length: int, below: str = "") -> Path:
    """Return a path in a folder, with a name that is padded until the path has ``length`` bytes.

    Parameters
    ----------
    below
        The path within the result that programs see, such as ``tree``; ``length`` is that of the whole path.
    """
    return folder / (name + _PADDING_CHARACTER * (length - len(os.fsencode(folder / name / below))))
