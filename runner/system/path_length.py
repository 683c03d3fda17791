"""Pads paths, so that the paths that programs see have the same length in every data folder.

A program keeps the path of its script, of its own file or of its folder on its heap, so a longer path of the data
folder can cost it another page. For example, one case in the history of Lua has 2,914 faults below one folder and 2,809
below another.

The length must not break programs that work with shorter paths. The tightest usual limits are 107 bytes for the address
of a socket, 127 for the first line of a script and 132 for a line of Fortran. The length leaves room for a file name
below these limits.
"""

import os
from pathlib import Path

_LENGTH_STEP_BYTES = 96
_PADDING_CHARACTER = "_"
_LONGEST_SUFFIX = "/trusted/0123456789ab-0123456789abcdef-0/tree"
"""The longest path below the folder of the builds that is padded: that of a build's tree."""


def compute_path_length(builds: Path) -> int:
    """Return the length in bytes to which all paths that programs see are padded.

    It is 96 or a multiple of 96, depending on the length of the folder of the builds.
    """
    return -(-len(os.fsencode(builds) + os.fsencode(_LONGEST_SUFFIX)) // _LENGTH_STEP_BYTES) * _LENGTH_STEP_BYTES


def pad_path(folder: Path, name: str, length: int, below: str = "") -> Path:
    """Return a path in a folder, with a name that is padded until the path has ``length`` bytes.

    Parameters
    ----------
    below
        The path below the returned folder that programs see, such as ``tree``; ``length`` includes it.
    """
    return folder / (name + _PADDING_CHARACTER * (length - len(os.fsencode(folder / name / below))))
