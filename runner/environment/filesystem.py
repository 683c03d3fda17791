"""The file system of a program and its data: it decides how files are mapped and read ahead."""

import os
import re
from pathlib import Path

from runner.system.tree import SettingValues, Tree


def read_settings(tree: Tree, directory: Path) -> SettingValues:
    """Return the type of the file system of a directory, and its readahead size."""
    longest_mount_point = ""
    settings: SettingValues = {}
    for line in tree.read_lines("proc/self/mountinfo"):
        mount, _, source = line.partition(" - ")
        fields, source_fields = mount.split(" "), source.split(" ")
        if len(fields) < 5 or len(source_fields) < 3:
            continue
        # Field 2 is the device. Field 4 is the mount point, in which spaces and the like are octal escapes.
        mount_point = re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        is_inside = os.path.commonpath((mount_point, directory)) == mount_point
        # The innermost mount point contains the directory; a later mount on the same point hides an earlier one.
        if is_inside and len(mount_point) >= len(longest_mount_point):
            longest_mount_point = mount_point
            settings = {
                "filesystem.type": _describe_type(source_fields[0], source_fields[2]),
                "filesystem.read_ahead_kb": tree.read_text(f"sys/class/bdi/{fields[2]}/read_ahead_kb"),
            }
    return settings


def _describe_type(name: str, options: str) -> str:
    """Return the type of a file system with the mount options that change what a fault maps: huge pages, or DAX."""
    decisive_options = [option for option in options.split(",") if option.startswith(("huge=", "dax"))]
    return " ".join([name, *decisive_options])
