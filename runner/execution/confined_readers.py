"""Confines the tools that read untrusted files after a measurement, such as perf and addr2line, in bubblewrap."""

import os
import subprocess
from functools import lru_cache
from pathlib import Path

from runner.execution.sandbox import NAMESPACES, Sandbox, list_parent_options, list_system_options


def build_reader_prefix(sandbox: Sandbox | None, *folders: Path) -> list[str]:
    """Return the words that precede the command of a tool that reads untrusted files, such as perf and its recordings.

    They make bubblewrap confine the tool: it has no network, and can write nothing. It sees the system's programs and
    libraries and the given folders, or everything if the programs ran without a sandbox. If they did, and this host
    allows no sandbox, there are no words.
    """
    if sandbox is None and not _is_bubblewrap_usable():
        return []
    words = ["bwrap", *NAMESPACES, *_list_reader_privileges()]
    if sandbox is None:
        return [*words, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"]
    words += [*list_system_options(), "--tmpfs", "/tmp"]  # noqa: S108 - the sandbox's own
    for folder in (*map(Path, sandbox.readable_folders), *(folder.absolute() for folder in folders)):
        words += [*list_parent_options(folder), "--ro-bind-try", str(folder), str(folder)]
    return [*words, "--"]


def _list_reader_privileges() -> tuple[str, ...]:
    """Return bubblewrap's options for capabilities: users other than root have none, and need a user namespace."""
    # Without CAP_SYSLOG the kernel's functions have no addresses.
    capabilities = ("--cap-drop", "ALL", "--cap-add", "CAP_SYSLOG")
    return capabilities if os.geteuid() == 0 else ("--unshare-user",)


@lru_cache
def _is_bubblewrap_usable() -> bool:
    """Return whether this host allows a sandbox."""
    try:
        return (
            subprocess.run(["bwrap", "--ro-bind", "/", "/", "true"], check=False, capture_output=True).returncode == 0
        )
    except OSError:
        return False
