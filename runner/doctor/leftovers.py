"""Finds and clears what earlier versions left behind that were killed, and what this version no longer uses.

What commands of this version leave behind is cleared by the next command.
"""

import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from runner.contract.code_trust import BuildStore
from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, ok, warning
from runner.system.tree_walk import remove_tree

_TEMPORARY = re.compile(r"faultwatch-[a-z0-9_]{8}")
"""Temporary folders of earlier versions, which did not name their process."""
_DAY = 86_400.0
_SWITCH = "sys/kernel/rcu_expedited"


def leftovers(host: HostProbe) -> CheckResult:
    """Check for files and settings that interrupted commands of earlier versions left behind."""
    found = [str(path) for path in _files(host)]
    if _is_expedited(host):
        found.append(f"/{_SWITCH} is 1")
    if not found:
        return ok("none")
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return warning(f"interrupted or earlier versions left {', '.join(found[:3])}{more}", "faultwatch doctor --fix")


def clear_leftovers(host: HostProbe) -> list[str]:
    """Clear them; return what was removed or restored, a line each. Only root can restore settings."""
    done = []
    for path in list(_files(host)):
        if path.is_dir() and not path.is_symlink():
            remove_tree(path)
        else:
            with suppress(OSError):
                path.unlink()
        if not os.path.lexists(path):
            done.append(f"{path} removed")
    if _is_expedited(host) and host.is_root:
        with suppress(OSError):
            host.tree.path(_SWITCH).write_text("0", encoding="ascii")
            done.append(f"/{_SWITCH}: 1 → 0")
    return done


def _files(host: HostProbe) -> Iterator[Path]:
    """Yield builds that lie in no store, git's work trees for builds, the old lock, and old temporary folders."""
    with suppress(OSError):
        for path in sorted((host.home / "builds").iterdir()):
            if path.name not in set(BuildStore):
                yield path
    yield from _work_trees(host)
    lock = host.home / "measuring.lock"
    if os.path.lexists(lock):
        yield lock
    with suppress(OSError):
        for path in sorted(Path(tempfile.gettempdir()).iterdir()):
            with suppress(OSError):
                state = path.lstat()
                old = time.time() - state.st_mtime > _DAY
                own = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
                if _TEMPORARY.fullmatch(path.name) and own and old:
                    yield path


def _work_trees(host: HostProbe) -> Iterator[Path]:
    """Yield git's own folders of work trees below the builds. Those of anybody else are left alone."""
    for entry in sorted((host.home / "subjects").glob("*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            repository = Path(json.loads(entry.read_text(encoding="utf-8"))["repository"])
            for link in sorted([*repository.glob(".git/worktrees/*/gitdir"), *repository.glob("worktrees/*/gitdir")]):
                if Path(link.read_text(encoding="utf-8").strip()).is_relative_to(host.home / "builds"):
                    yield link.parent


def _is_expedited(host: HostProbe) -> bool:
    """Return whether grace periods are expedited all the time although nobody asked for that at boot."""
    wanted = "rcu_expedited" in (host.tree.text("proc/cmdline") or "")
    return host.tree.text(_SWITCH) == "1" and not wanted
