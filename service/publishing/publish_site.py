"""Writes the pages of a database into a folder: requests the first page from the application, and follows its links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from flask import Flask, g, request
from flask.testing import FlaskClient

from runner.contract import get_metric
from runner.contract.report import hash_document
from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.errors import ServiceError
from service.pipeline import judging_schedule
from service.publishing.chart_data import COMMITS_FILE, ChartPacker
from service.publishing.classic_scripts import join_modules
from service.publishing.page_links import PageRewriter
from service.publishing.site_addresses import HOME, SiteAddresses, SiteFile
from service.publishing.site_folder import replace_site
from service.rules.access.caller import Caller
from service.rules.access.scope import Scope
from service.schemas.history import SeriesSummary
from service.store.series import series
from service.store.series.series import SeriesFilter
from service.web import app_resources

_STATIC_FOLDER = "static/"
_READER = Caller("reader", frozenset({Scope.READ}))
"""A caller who may read everything and change nothing."""


@dataclass(frozen=True, slots=True)
class PublishedSite:
    """The numbers of what was written."""

    pages: int
    bytes: int


def publish_site(
    config: Config, site: Path, report_progress: Callable[[int, int], None], *, with_details: bool = False
) -> PublishedSite:
    """Write the site of the configured database.

    Parameters
    ----------
    site
        The folder of the site, which is replaced.
    report_progress
        Called with the number of files written and the number of files known so far.
    with_details
        Whether the site shows what a public dashboard hides: the values of settings, the messages of failed builds.

    Raises
    ------
    ServiceError
        If the folder cannot be replaced, or a page cannot be rendered.
    """
    app = _create_app(config, with_details=with_details)
    with app.app_context():
        database = app_resources.get_database()
    judging_schedule.judge_all_series(database)
    with database.reading() as session:
        all_series = series.list_page(session, SeriesFilter()).items
    # Ids are numbers of one database; these keys identify series across databases, so that their addresses last.
    key_by_series = {
        item.id: hash_document([item.subject, item.host, item.case, item.definition, item.metric])
        for item in all_series
        if _is_shown(item)
    }
    addresses = SiteAddresses(app.url_map.bind("localhost"), key_by_series.get)
    app.jinja_env.globals["may_see"] = addresses.has_endpoint
    with replace_site(site) as folder:
        return _SiteWriter(app.test_client(use_cookies=False), addresses, folder).write(report_progress)


class _SiteWriter:
    """Writes the first page, and all pages to which it leads."""

    def __init__(self, client: FlaskClient, addresses: SiteAddresses, folder: Path) -> None:
        self._client = client
        self._addresses = addresses
        self._folder = folder
        self._charts = ChartPacker()
        self._pending_files: dict[str, SiteFile] = {HOME.file: HOME}
        self._written_files: set[str] = set()

    def write(self, report_progress: Callable[[int, int], None]) -> PublishedSite:
        """Write files until no page leads to a further one; return how much was written."""
        n_pages = n_bytes = 0
        while self._pending_files:
            name, file = next(iter(self._pending_files.items()))
            del self._pending_files[name]
            self._written_files.add(name)
            if name != COMMITS_FILE:  # written last, because each chart can add commits
                n_bytes += self._write_file(name, self._make_content(file))
                if name.endswith(".html"):
                    n_pages += 1
            report_progress(len(self._written_files), len(self._written_files) + len(self._pending_files))
        n_bytes += self._write_file(COMMITS_FILE, self._charts.format_commits_script().encode())
        return PublishedSite(n_pages, n_bytes)

    def _write_file(self, name: str, content: bytes) -> int:
        """Write a file of the site; return its size."""
        target = self._folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.write_bytes(content)

    def _make_content(self, file: SiteFile) -> bytes:
        """Return the content of a file of the site, and follow its links."""
        if file.file.startswith(_STATIC_FOLDER) and file.file.endswith(".js"):
            return join_modules(file.file, lambda name: self._request_page(f"/{name}").decode()).encode()
        content = self._request_page(file.path)
        if not file.file.endswith(".html"):
            return content
        rewriter = PageRewriter(file, self._addresses.find_file, self._charts.pack)
        page = rewriter.rewrite_page(content.decode())
        self._follow_links(rewriter.linked_files)
        return page.encode()

    def _follow_links(self, files: Iterable[SiteFile]) -> None:
        for file in files:
            if file.file not in self._written_files:
                self._pending_files.setdefault(file.file, file)

    def _request_page(self, path: str) -> bytes:
        """Return the answer of the application; raise an error, which ends the publication, if it is an error."""
        response = self._client.get(path, headers={"Accept": "text/html,*/*"})
        if response.status_code != 200:
            raise ServiceError("A page cannot be published", f"{path} ({response.status})", "Please report this.")
        content: bytes = response.data
        return content


def _is_shown(item: SeriesSummary) -> bool:
    """Return whether a site has the page of a series, which is so for judged metrics and metrics that views show first.

    Most series have other metrics, and are left out so that the site stays small.
    """
    return item.judged or bool(get_metric(item.metric).views)


def _create_app(config: Config, *, with_details: bool) -> Flask:
    """Return the application whose pages are published: public, and without elements that need a service."""
    app = create_app(
        config.copy_with_values(
            access=Access.TOKENS, anonymous_read=True, jobs_here=False, forges={}, jobs=None, provider=None
        )
    )
    app_resources.mark_pages_as_published(app)
    app.jinja_env.globals |= {
        "is_published": True,
        "follow": lambda *_series, **_jobs: "",
        "format_addresses": dict,  # A site has no page in another format.
        "is_anonymous": lambda: True,
        "signed_in": lambda: None,
    }

    def grant_read_access() -> None:
        """Let the current page show everything, if it contains nothing that the site must hide."""
        # The pages of releases show only the names of settings, which are public, but need a caller who may read.
        if with_details or request.blueprint == "releases":
            g.caller = _READER

    # Insert it as the first function, because it must run before the authorization that determines the caller.
    app.before_request_funcs.setdefault(None, []).insert(0, grant_read_access)
    return app
