"""The API under requests that nobody would send: answers are what its own description allows, and none is a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.app import create_app
from service.config.settings import Config
from tests import thorough
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.random
STORED = [reports.report(number, 100 if number < 4 else 104) for number in range(1, 7)]
THERE = {"subject": "demo", "run_id": str(STORED[0].run_id), "series_id": 1}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> schemathesis.BaseSchema:
    home: Path = tmp_path_factory.mktemp("fuzzed")
    app = create_app(Config.from_environment({"FAULTWATCH_HOME": str(home)}))
    api = Api(app.test_client())
    api.put_revisions(*range(1, 7))
    api.send(*STORED)
    assert api.get("/drifts")["total"] == 1
    return schemathesis.openapi.from_wsgi("/openapi.json", app)


def test_no_request_is_answered_with_a_crash(described: schemathesis.BaseSchema) -> None:
    for found in described.get_all_operations():
        operation = found.ok()

        # To invent a body takes a quarter of a second.
        few = 2 if operation.body else 5

        @settings(max_examples=thorough.choose(few, 60), database=None, suppress_health_check=list(HealthCheck))
        @given(operation.as_strategy(), st.booleans())
        def check(case: Case, there: bool) -> None:
            if there:  # else nearly every address would lead nowhere
                known = {name: value for name, value in THERE.items() if name in case.path_parameters}
                case.path_parameters = {**case.path_parameters, **known}
            # The client of these tests does not decompress.
            case.call_and_validate(checks=CHECKS, headers={"Accept-Encoding": "identity"})

        check()
