from pathlib import Path

from sqlalchemy import make_url

from runner.reporting.embedded_service import build_own_database
from service.config.settings import Config


def test_the_database_is_in_its_folder_whatever_the_folder_is_called() -> None:
    for name in ("home", "who?a=b", "50%25", "a b"):
        address = Config.from_environment(build_own_database(Path("/srv", name))).database_url
        assert make_url(address).database == f"/srv/{name}/faultwatch.db"
