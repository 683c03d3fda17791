"""Runs commands as an ordinary user, where the tests are root."""

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

ORDINARY = 1
"""The user and group ``daemon``: it owns nothing, and exists everywhere."""
_SCRIPT = """set -e
base=$1; shift
top=/${base#/}; top=/$(echo "$top" | cut -d/ -f2)
if ! setpriv --reuid=1 --regid=1 --clear-groups test -x "$base"; then
    # The interpreter lies in a folder that this user may not enter: show that folder alone, in its own view.
    shown=$(mktemp -d); mount --bind "$base" "$shown"
    mount -t tmpfs -o mode=755 none "$top"; mkdir -p "$base"; mount --bind "$shown" "$base"
fi
exec setpriv --reuid=1 --regid=1 --clear-groups "$@"
"""


def as_ordinary(command: Sequence[str], owned: Path) -> list[str]:
    """Return a command line that runs a command as the ordinary user, to whom a folder is given with all in it."""
    for place in (owned, *owned.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # a service that runs removes its temporary files
            # Giving a file to its owner would change its times, and kept builds are recognised by theirs.
            if place.lstat().st_uid != ORDINARY:
                os.chown(place, ORDINARY, ORDINARY, follow_symlinks=False)
    return ["unshare", "--mount", "sh", "-c", _SCRIPT, "sh", sys.base_prefix, *command]
