"""Serves the locked front-end packages from node_modules, so that no page loads anything from another host.

Only the files named here are served. The version is part of each address, so browsers may cache a file for good.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from flask import Blueprint, Response, abort, send_file, url_for

from service.web.vendored import FILES

NODE_MODULES = Path(__file__).resolve().parents[2] / "node_modules"
CHART_SCRIPTS = ("chart.js", "hammerjs", "chartjs-plugin-annotation", "chartjs-plugin-zoom")
"""What the chart needs, in the order of loading: the plugins expect Chart and Hammer to be there."""

FLAME_SCRIPTS = ("d3-selection", "d3-flame-graph")
"""What flame graphs need, in the order of loading."""

_ONE_YEAR_SECONDS = 365 * 24 * 3600

bp = Blueprint("vendor", __name__, url_prefix="/vendor")


class MissingPackageError(Exception):
    """A front-end package is not installed; the message says what to do."""


@bp.get("/<package>/<version>/<path:name>")
def file(package: str, version: str, name: str) -> Response:
    """Serve one allowed file of one package in the installed version."""
    path = FILES.get(package)
    if path is None or name != Path(path).name:
        abort(404)
    try:
        installed = _find_version(package)
    except MissingPackageError as missing:
        return Response(f"{missing}\n", 503, mimetype="text/plain")
    if version != installed:
        abort(404)
    response = send_file(NODE_MODULES / package / path, mimetype="text/javascript", max_age=_ONE_YEAR_SECONDS)
    response.cache_control.immutable = True
    return response


def find_address(package: str) -> str:
    """Return the address of a package's file, with its version, or raise :class:`MissingPackageError`."""
    return url_for("vendor.file", package=package, version=_find_version(package), name=Path(FILES[package]).name)


def describe_missing() -> str | None:
    """Return what is not installed and how to install it, or None if all is there."""
    try:
        for package in FILES:
            _find_version(package)
    except MissingPackageError as problem:
        return str(problem)
    return None


def _find_version(package: str) -> str:
    """Return the installed version of a front-end package; raise if it is not installed."""
    root = NODE_MODULES / package
    if not (root / FILES[package]).is_file():
        raise MissingPackageError(
            f"The front-end package {package} is not installed. Run `npm ci` in the folder that holds package.json."
        )
    return _read_version(root / "package.json")


@cache
def _read_version(manifest: Path) -> str:
    return str(json.loads(manifest.read_text(encoding="utf-8"))["version"])
