"""POST /api/v1/diagnoses."""

from __future__ import annotations

import json

from flask.testing import FlaskClient

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import Touch
from tests.service.profiles import anatomy, profile


def test_a_profile_is_answered_with_what_it_shows(client: FlaskClient) -> None:
    made = profile(anatomy({Touch.AFTER_MADVISE: 9_000}), cost=0.5, calls={"madvise": 90})
    answer = client.post("/api/v1/diagnoses", json=json.loads(DiagnosisRequest(profile=made).model_dump_json()))
    assert answer.status_code == 200
    assert answer.json is not None
    assert answer.json["findings"][0]["rule"] == "returned-memory"


def test_a_profile_whose_tables_do_not_add_up_is_refused(client: FlaskClient) -> None:
    document = json.loads(DiagnosisRequest(profile=profile(anatomy({Touch.FIRST: 5}))).model_dump_json())
    document["profile"]["anatomy"]["by_touch"]["first touch"] = 4
    answer = client.post("/api/v1/diagnoses", json=document)
    assert answer.status_code == 422
    assert "by_touch does not add up to the counted faults" in answer.get_data(as_text=True)
