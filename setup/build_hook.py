"""Adds to a wheel what git does not track: the front-end packages that the pages load, from node_modules."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildHook(BuildHookInterface[Any]):
    """Hatchling's hook for the wheel and the source distribution."""

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
