"""Serves the vendored front-end packages, so that no page loads anything from another host.

``make vendor`` copies them into the repository. The version is part of each address, so browsers may cache a file
permanently.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from flask import Blueprint, Response, send_from_directory, url_for

_VENDORED_FOLDER = Path(__file__).with_name("vendored")
CHART_SCRIPTS = ("chart.js", "hammerjs", "chartjs-plugin-annotation", "chartjs-plugin-zoom")
"""The packages of the chart, in the order of loading: the plugins need the globals Chart and Hammer."""

FLAME_SCRIPTS = ("d3-selection", "d3-flame-graph")
"""The packages of flame graphs, in the order of loading."""

_ONE_YEAR_SECONDS = 365 * 24 * 3600

bp = Blueprint("vendor", __name__, url_prefix="/vendor")


@bp.get("/<package>/<version>/<name>")
def file(package: str, version: str, name: str) -> Response:
    """Serve the file of a package."""
    path = f"{package}/{version}/{name}"
    response = send_from_directory(_VENDORED_FOLDER, path, mimetype="text/javascript", max_age=_ONE_YEAR_SECONDS)
    response.cache_control.immutable = True
    return response


def find_address(package: str) -> str:
    """Return the address of a package's file, with its version."""
    version, name = _find_file(package)
    return url_for("vendor.file", package=package, version=version, name=name)


@cache
def _find_file(package: str) -> tuple[str, str]:
    """Return the version and the name of a package's file."""
    (script,) = (_VENDORED_FOLDER / package).glob("*/*.js")
    return script.parent.name, script.name
