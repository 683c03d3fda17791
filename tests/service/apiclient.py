"""The API as a runner uses it, without a network."""

from __future__ import annotations

from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from runner.contract import Plan, PlanRequest, Report
from tests.service import reports


class Api:
    """Asserts that answers are good, unless told otherwise."""

    def __init__(self, client: FlaskClient) -> None:
        self.client = client

    def get(self, path: str, **query: Any) -> Any:
        answer = self.client.get(f"/api/v1{path}", query_string=query)
        assert answer.status_code == 200, answer.text
        return answer.json

    def send(self, *sent: Report) -> None:
        """Send new reports: several in one request, after which their series are judged once."""
        if len(sent) == 1:
            assert self.send_each(*sent) == [201]
        elif sent:
            documents = [report.model_dump(mode="json") for report in sent]
            answer = self.client.post("/api/v1/runs", json={"reports": documents})
            assert answer.status_code == 200, answer.text
            assert answer.json == {"created": len(sent), "already_stored": 0, "conflicting": []}

    def send_each(self, *sent: Report) -> list[int]:
        """Send reports in a request each, after each of which its series are judged; return the status codes."""
        return [self.put(report).status_code for report in sent]

    def put(self, report: Report) -> TestResponse:
        return self.client.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"))

    def put_revisions(self, *numbers: int) -> TestResponse:
        listed = [reports.revision(number).model_dump(mode="json") for number in numbers]
        return self.client.put("/api/v1/subjects/demo/revisions", json={"revisions": listed})

    def plan(self, request: PlanRequest) -> Plan:
        answer = self.client.post("/api/v1/plans", json=request.model_dump(mode="json"))
        assert answer.status_code == 200, answer.text
        return Plan.model_validate(answer.json)

    def drifts(self, **query: Any) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get("/drifts", **query)["items"]
        return items

    def series(self, metric: str = "minor-faults", **query: Any) -> dict[str, Any]:
        """Return the one series of a metric, in full."""
        (entry,) = self.get("/series", metric=metric, **query)["items"]
        detail: dict[str, Any] = self.get(f"/series/{entry['id']}")
        return detail
