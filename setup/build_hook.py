"""Adds to a wheel what git does not track: front-end packages, the date of the workloads, man pages, completions."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_DATE = "workloads/.date"
"""``runner.subject.shipped_workloads`` reads it."""


class BuildHook(BuildHookInterface[Any]):
    """Hatchling's hook for the wheel and the source distribution."""

    _made: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the served files, with the manifests that name their versions, and every package's license."""
        if version == "editable":
            return  # it serves the clone's own node_modules
        root = Path(self.root)
        modules = root / "node_modules"
        served: dict[str, str] = runpy.run_path(str(root / "service/web/vendored.py"))["FILES"]
        files = [modules / package / name for package, file in served.items() for name in ("package.json", file)]
        for file in files:
            if not file.is_file():
                raise SystemExit(f"{file.relative_to(root)} is missing: run `npm ci --ignore-scripts` in {root} first")
        # Some of the served files contain code of packages that are not served themselves.
        files += sorted(file for pattern in ("*/LICENSE*", "@*/*/LICENSE*") for file in modules.glob(pattern))
        prefix = "faultwatch/tree/" if self.target_name == "wheel" else ""
        build_data["force_include"] |= {str(file): f"{prefix}{file.relative_to(root)}" for file in files}
        share = root / "share"
        if not (root / _DATE).exists():  # A source distribution has all that follows.
            self._made = Path(tempfile.mkdtemp())
            seconds = _date_of_workloads(root)
            (self._made / "date").write_text(f"{seconds}\n", encoding="ascii")
            build_data["force_include"][str(self._made / "date")] = f"{prefix}{_DATE}"
            share = self._made / "share"
            _write_shared_files(root, share, self.metadata.version, int(seconds))
        if self.target_name == "wheel":
            build_data["shared_data"][str(share)] = "share"
        elif self._made:
            build_data["force_include"][str(share)] = "share"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary files."""
        if self._made:
            shutil.rmtree(self._made)


def _write_shared_files(root: Path, share: Path, version: str, seconds: int) -> None:
    date = datetime.fromtimestamp(seconds, UTC).date().isoformat()
    command = [sys.executable, str(root / "setup" / "shared_files.py"), str(share), version, date]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit("the man pages cannot be made: install requirements.txt, and build with --no-build-isolation")


def _date_of_workloads(root: Path) -> str:
    """Return when the workloads were last changed, in seconds since 1970: the date of the commit that a host makes."""
    if date := os.environ.get("SOURCE_DATE_EPOCH"):
        return date
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct", "--", "workloads"]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() or "0"
    except (OSError, subprocess.CalledProcessError):
        return str(int((root / "workloads").stat().st_mtime))
