"""Adds to a wheel what git does not track: the date of the workloads, man pages, completions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement

_DATE = "workloads/.date"
"""``runner.subject.shipped_workloads`` reads it."""


class BuildHook(BuildHookInterface[Any]):
    """Hatchling's hook for the wheel and the source distribution."""

    _made: Path | None = None

    def dependencies(self) -> list[str]:
        """Return what an isolated build installs: the manual pages are written from the commands, which it imports.

        A source distribution has the pages.
        """
        return [] if self._is_source_distribution() else ["click-man>=0.6", *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the date of the workloads and the files for share/: made in a clone, copied in a source distribution.

        An editable installation gets neither. Without the packages that write the files for share/, there is a warning.
        """
        if version == "editable":
            return  # it has the clone's history, and no share/
        root = Path(self.root)
        prefix = "faultwatch/tree/" if self.target_name == "wheel" else ""
        share = root / "share"
        if not self._is_source_distribution():
            self._made = Path(tempfile.mkdtemp())
            seconds = _find_workloads_date(root)
            (self._made / "date").write_text(f"{seconds}\n", encoding="ascii")
            build_data["force_include"][str(self._made / "date")] = f"{prefix}{_DATE}"
            share = self._made / "share"
            if missing := [name for name in self.dependencies() if not _is_installed(name)]:
                self.app.display_warning(f"no manual pages and completions: {', '.join(missing)} not installed")
            else:
                _write_shared_files(root, share, self.metadata.version, int(seconds))
        if not share.is_dir():
            return
        if self.target_name == "wheel":
            build_data["shared_data"][str(share)] = "share"
        else:
            build_data["force_include"][str(share)] = "share"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary files."""
        if self._made:
            shutil.rmtree(self._made)

    def _is_source_distribution(self) -> bool:
        return (Path(self.root) / _DATE).exists()


def _is_installed(requirement: str) -> bool:
    """Return whether some version of a required package is installed."""
    try:
        return version(Requirement(requirement).name) != ""
    except PackageNotFoundError:
        return False


def _write_shared_files(root: Path, share: Path, version: str, seconds: int) -> None:
    """Write the files for share/ in a process of its own; end the build if that fails."""
    date = datetime.fromtimestamp(seconds, UTC).date().isoformat()
    command = [sys.executable, str(root / "setup" / "shared_files.py"), str(share), version, date]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit("the man pages cannot be made: see the lines above")


def _find_workloads_date(root: Path) -> str:
    """Return the date of the commit that a host makes of the workloads, in seconds since 1970.

    It is ``SOURCE_DATE_EPOCH`` if that is set, else when they were last committed, "0" if they never were; outside of a
    git repository it is when their folder was last changed.
    """
    if date := os.environ.get("SOURCE_DATE_EPOCH"):
        return date
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct", "--", "workloads"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() or "0"
    except (OSError, subprocess.CalledProcessError):
        return str(int((root / "workloads").stat().st_mtime))
