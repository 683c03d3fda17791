"""A site with everything that a page can meet."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.config.settings import Config
from service.publishing.publish_site import publish_site
from tests.service.web import extreme_reports
from tests.service.web.application import filled_database


def make_config(folder: Path) -> Config:
    """Return the settings of a service whose database is in a folder."""
    return Config(home=folder, database_url=f"sqlite:///{folder}/faultwatch.db")


@pytest.fixture(scope="module")
def extremes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    home = tmp_path_factory.mktemp("extremes")
    (home / "faultwatch.db").write_bytes(filled_database(extreme_reports.send))
    publish_site(make_config(home), home / "site", lambda *_: None)
    return home / "site"
