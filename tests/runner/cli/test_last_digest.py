"""A nightly run ends with a digest, also where the service does not get to judge all runs of it."""

from datetime import UTC, datetime

import pytest

from runner.cli.nightly import fetch_last_digest
from runner.contract.nightly import NightlyDigest
from runner.reporting.client import Service
from tests.runner.http_stub import Answer, http_stub

DIGEST = NightlyDigest(
    name="tonight",
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
    complete=True,
    sentence="All is measured.",
    absent_hosts=(),
    cells=(),
    drifts=(),
)


def test_a_digest_that_cannot_wait_for_all_runs_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with http_stub() as answering:
        answering.next = [Answer(503, '{"detail": "Many runs are being judged."}')] * 5
        answering.next.append(Answer(200, DIGEST.model_dump_json()))
        service = Service(answering.url)
        assert fetch_last_digest("tonight", service, service) == DIGEST
    assert [path.endswith("?judged=true") for path in answering.paths] == [True] * 5 + [False]
    (line,) = capsys.readouterr().err.splitlines()
    assert "Many runs are being judged." in line
    assert "faultwatch nightly --name tonight --digest" in line
