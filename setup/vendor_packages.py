"""Copies what the pages need from node_modules into the tree, with the licenses: ``make vendor``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
VENDORED = _ROOT / "service/web/vendored"
NODE_MODULES = _ROOT / "node_modules"
FILES = {
    "chart.js": "dist/chart.umd.min.js",
    "chartjs-plugin-annotation": "dist/chartjs-plugin-annotation.min.js",
    "chartjs-plugin-zoom": "dist/chartjs-plugin-zoom.min.js",
    "d3-flame-graph": "dist/d3-flamegraph.min.js",
    "d3-selection": "dist/d3-selection.min.js",
    "hammerjs": "hammer.min.js",
    "htmx.org": "dist/htmx.min.js",
}
"""The one file of each package that the service serves."""


def vendor_packages(modules: Path, target: Path) -> None:
    """Replace a folder by the served files of installed packages: ``NAME/VERSION/FILE``, and ``LICENSES.txt``."""
    # Read first: a package that is not installed must not cost the folder.
    versions = {package: _read_version(modules / package) for package in FILES}
    shutil.rmtree(target, ignore_errors=True)
    for package, file in FILES.items():
        folder = target / package / versions[package]
        folder.mkdir(parents=True)
        shutil.copyfile(modules / package / file, folder / Path(file).name)
    (target / "LICENSES.txt").write_text(_join_licenses(modules), encoding="utf-8")


def _join_licenses(modules: Path) -> str:
    """Return the licenses of all packages: some of the served files contain code of others."""
    files = sorted(file for pattern in ("*/LICENSE*", "@*/*/LICENSE*") for file in modules.glob(pattern))
    return "\n".join(
        f"===== {file.parent.relative_to(modules)} {_read_version(file.parent)} =====\n\n"
        f"{file.read_text(encoding='utf-8').strip()}\n"
        for file in files
    )


def _read_version(package: Path) -> str:
    return str(json.loads((package / "package.json").read_text(encoding="utf-8"))["version"])


if __name__ == "__main__":
    vendor_packages(NODE_MODULES, VENDORED)
