"""Texts with null characters, which PostgreSQL cannot store: programs and addresses can contain them."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from runner.contract import Failure, Stage
from service.store.engine.database import Database
from service.store.models import Run
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def test_a_report_whose_failure_has_a_null_character_is_stored(api: Api, database: Database) -> None:
    api.send(reports.report(1, failure=Failure(stage=Stage.BUILD, message="cc: \0", log="cc: \0\n")))
    with database.reading() as session:
        (message,) = session.scalars(select(Run.failure_message))
    assert message in {"cc: \0", "cc: \ufffd"}


@pytest.mark.parametrize("address", ["/search?q=%00abcd", "/runs?case=a%00", "/api/v1/series?metric=%00"])
def test_what_contains_a_null_character_is_not_found(api: Api, address: str) -> None:
    assert api.client.get(address).status_code == 200
