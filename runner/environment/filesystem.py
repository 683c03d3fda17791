"""The file system of the programs and their data, which decides how files are mapped and read ahead."""

import os
import re
from pathlib import Path

from runner.system.tree import SettingValues, Tree


def read_settings(tree: Tree, directory: Path) -> SettingValues:
    """Return the type of the file system of a directory, and its readahead size."""
    best: tuple[int, SettingValues] = (-1, {})
    for line in tree.read_lines("proc/self/mountinfo"):
        mount, _, source = line.partition(" - ")
        fields, kind = mount.split(" "), source.split(" ")
        if len(fields) < 5 or len(kind) < 3:
            continue
        point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        inside = os.path.commonpath((point, directory)) == point
        if inside and len(point) >= best[0]:  # a later mount hides an earlier one on the same point
            best = (
                len(point),
                {
                    "filesystem.type": _describe_type(kind[0], kind[2]),
                    "filesystem.read_ahead_kb": tree.read_text(f"sys/class/bdi/{fields[2]}/read_ahead_kb"),
                },
            )
    return best[1]


def _describe_type(name: str, options: str) -> str:
    """Return the type with the mount options that change what a fault maps: huge pages, or DAX."""
    decisive = [option for option in options.split(",") if option.startswith(("huge=", "dax"))]
    return " ".join([name, *decisive])
