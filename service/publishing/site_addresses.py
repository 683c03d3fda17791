"""Decides which pages a site contains, and names the file of each.

A site is read-only, so it contains the pages with results. Of a page with a query, only the queries that select a page
of a list are published, because filters have too many combinations.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from werkzeug.exceptions import HTTPException
from werkzeug.routing import MapAdapter

_LIST_PARAMETERS = frozenset({"offset", "folded", "snoozed"})
_PUBLISHED_ENDPOINTS: Mapping[str, frozenset[str]] = {
    "overview.show": _LIST_PARAMETERS,
    "event.index": _LIST_PARAMETERS | {"state", "subject"},
    "event.show": frozenset(),
    "drift.show": frozenset(),
    "drift_map.show": frozenset(),
    "drift_map.show_subject": frozenset(),
    "drift_map.drawing": frozenset(),
    "series.show": frozenset(),
    "releases.index": frozenset(),
    "releases.show": frozenset({"subject"}),
    "workloads.index": frozenset(),
    "workloads.workload": frozenset(),
    "workloads.case": frozenset(),
    "definitions.show": frozenset(),
    "static": frozenset(),
    "vendor.file": frozenset(),
}
"""The endpoints of a site, each with the query parameters that are published."""
_ALL_TIME = ("since", "all")
"""The parameter that disables the filter by time, because a site does not know the last visit of its reader."""
_PLAIN_NAME = re.compile(r"[a-z0-9_][a-z0-9_.-]{0,99}")
_MAX_NAME_CHARACTERS = 60
_DIGEST_DIGITS = 12
"""Number of hexadecimal digits of the digest in a file name, which makes the names of different texts differ."""


@dataclass(frozen=True, slots=True)
class SiteFile:
    """An address of the service, and the file of the site with its content."""

    path: str
    """The request to the application: the path, possibly with a query."""
    file: str
    """The path of the file, relative to the folder of the site."""

    def build_relative_link(self, target: SiteFile, fragment: str = "") -> str:
        """Return the relative address of another file."""
        relative_path = posixpath.relpath(target.file, posixpath.dirname(self.file) or ".")
        return quote(relative_path) + (f"#{fragment}" if fragment else "")


HOME = SiteFile("/?since=all", "index.html")


class SiteAddresses:
    """Finds the file of each address that a site contains.

    Parameters
    ----------
    routes
        The routes of the application.
    find_series_key
        Returns a key that identifies a series across databases, in which its id differs; None if the site lacks it.
    """

    def __init__(self, routes: MapAdapter, find_series_key: Callable[[int], str | None]) -> None:
        self._routes = routes
        self._find_series_key = find_series_key

    def has_endpoint(self, endpoint: str) -> bool:
        """Return whether a site contains the pages of an endpoint."""
        return endpoint in _PUBLISHED_ENDPOINTS

    def find_file(self, address: str) -> SiteFile | None:
        """Return the file of an address, relative to the root; None if the site does not contain it."""
        parts = urlsplit(address)
        if parts.scheme or parts.netloc or not parts.path.startswith("/"):
            return None
        try:
            endpoint, arguments = self._routes.match(unquote(parts.path), method="GET")
        except HTTPException:
            return None  # the application has no such page either
        if endpoint not in _PUBLISHED_ENDPOINTS:
            return None
        # A site's lists always cover all time, so this parameter is not part of a file's name.
        query = sorted(pair for pair in parse_qsl(parts.query) if pair != _ALL_TIME)
        if any(name not in _PUBLISHED_ENDPOINTS[endpoint] for name, _ in query):
            return None
        file = self._name_file(endpoint, arguments, parts, query)
        return None if file is None else SiteFile(_build_request(endpoint, parts, query), file)

    def _name_file(
        self, endpoint: str, arguments: Mapping[str, object], parts: SplitResult, query: list[tuple[str, str]]
    ) -> str | None:
        """Return the file of an address; None for a series that the site does not show."""
        if endpoint == "series.show":
            key = self._find_series_key(int(str(arguments["series_id"])))
            return None if key is None else f"series/{key}.html"
        if endpoint in {"static", "vendor.file"}:
            return parts.path.lstrip("/")
        segments = [make_file_name(unquote(segment)) for segment in parts.path.split("/") if segment] or ["index"]
        if query:
            segments[-1] += "-" + make_file_name("-".join(f"{name}-{value}" for name, value in query))
        return "/".join(segments) + ("" if endpoint == "drift_map.drawing" else ".html")


def make_file_name(text: str) -> str:
    """Return a name for a file or folder that all file systems allow; different texts have different names.

    No name ends like that of a page: the folder of a subject ``foo.html`` would have the name of the page of ``foo``.
    """
    if _PLAIN_NAME.fullmatch(text) and not text.endswith(".html"):
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_DIGITS]
    legible_part = re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-")[:_MAX_NAME_CHARACTERS]
    return f"{legible_part}-{digest}" if legible_part else digest


def _build_request(endpoint: str, parts: SplitResult, query: list[tuple[str, str]]) -> str:
    """Return the request to the application; lists of events are requested without their filter by time."""
    pairs = [*query, _ALL_TIME] if endpoint in {"overview.show", "event.index"} else query
    return parts.path + (f"?{urlencode(pairs)}" if pairs else "")
