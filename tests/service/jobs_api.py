"""Jobs over the API, as people and runners use it."""

from __future__ import annotations

from typing import Any

from flask.testing import FlaskClient

from tests.service import reports

QUESTION = {
    "kind": "bisect",
    "subject": "demo",
    "case": reports.CASE.name,
    "good": reports.commit(1),
    "bad": reports.commit(9),
}


class Jobs:
    """Asserts that answers are good, unless told otherwise."""

    def __init__(self, client: FlaskClient, headers: dict[str, str] | None = None) -> None:
        self.client, self.headers = client, headers or {}

    def post(self, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        answer = self.client.post(f"/api/v1/jobs{path}", json=body, headers=self.headers)
        assert answer.status_code == status, answer.text
        document: dict[str, Any] = answer.json
        return document

    def order(self, status: int = 201, question: dict[str, Any] | None = None, **told: Any) -> dict[str, Any]:
        return self.post("", status, question=QUESTION | (question or {}), **told)

    def claim(self, job: dict[str, Any], status: int = 200, host: str = "box") -> dict[str, Any]:
        return self.post(f"/{job['id']}/claim", status, host=host)

    def get(self, job: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.get(f"/api/v1/jobs/{job['id']}", headers=self.headers)
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json
        return document

    def states(self, job: dict[str, Any]) -> list[str]:
        return [step["state"] for step in self.get(job)["steps"]]
