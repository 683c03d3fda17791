"""Paths that programs see have the same length in every data folder.

A program keeps the path of its script, of its own file or of its folder on its heap, so a longer data folder can cost
it another page. Measured: one case of the history of Lua counts 2,914 faults below one folder and 2,809 below another.
"""

from pathlib import Path

_LEAST, _STEP = 128, 64
_FILL = "_"


def filled(folder: Path, name: str, below: str = "") -> Path:
    """Return a path in a folder: its name begins as given, and is filled until the path has one of few lengths.

    Parameters
    ----------
    below
        What is seen of it is this path in it, such as ``tree``: the lengths, 128 bytes or a multiple of 64 above, are
        those of that.
    """
    rest = len(f"/{below}".encode()) if below else 0
    length = len(str(folder / name).encode()) + rest
    return folder / (name + _FILL * (max(_LEAST, -(-length // _STEP) * _STEP) - length))
