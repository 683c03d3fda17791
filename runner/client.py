"""The service's HTTP API, as the runner uses it."""

from collections.abc import Sequence
from typing import Any

import requests
from pydantic import BaseModel
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.job import Plan, PlanRequest
from runner.contract.report import Report, Revision, RevisionList
from runner.errors import FaultwatchError

TIMEOUT = (5, 60)
"""Seconds to connect, and to wait for an answer."""


class Service:
    """A Faultwatch service at an address.

    Every request may be sent twice without harm, so all of them are tried again when the connection or the service
    fails for a moment.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._session = requests.Session()
        retry = Retry(total=4, backoff_factor=0.2, status_forcelist=(502, 503, 504), allowed_methods=None)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def send_revisions(self, subject: str, revisions: Sequence[Revision]) -> None:
        """Tell the service a stretch of the subject's history."""
        self._call("PUT", f"/subjects/{subject}/revisions", RevisionList(revisions=tuple(revisions)))

    def plan(self, request: PlanRequest) -> Plan:
        """Ask what is left to measure."""
        return Plan.model_validate(self._call("POST", "/plans", request))

    def send_report(self, report: Report) -> None:
        """Hand over a report. Returns once the service has stored it."""
        self._call("PUT", f"/runs/{report.run_id}", report)

    def compare(self, request: ComparisonRequest) -> Comparison:
        """Ask what is known about base and head, and how many pairs are still needed."""
        return Comparison.model_validate(self._call("POST", "/comparisons", request))

    def drifts(self, **filters: str) -> list[dict[str, Any]]:
        """Return the drifts that the service sees, as its API describes them."""
        answer = self._call("GET", "/drifts", params=filters)
        return list(answer["items"])

    def _call(self, method: str, path: str, body: BaseModel | None = None, params: dict[str, str] | None = None) -> Any:
        try:
            response = self._session.request(
                method,
                f"{self.url}/api/v1{path}",
                data=body.model_dump_json().encode() if body else None,
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                params=params,
                timeout=TIMEOUT,
            )
        except requests.RequestException as error:
            raise FaultwatchError(
                f"the service at {self.url} does not answer: {_innermost(error)}",
                "start it with `faultwatch-service serve`, or unset FAULTWATCH_URL to use a local one",
            ) from None
        if not response.ok:
            raise FaultwatchError(f"the service at {self.url} refused {method} {path}: {_problem(response)}")
        try:
            return response.json()
        except ValueError:
            raise FaultwatchError(
                f"{self.url} did not answer like a Faultwatch service", "check FAULTWATCH_URL"
            ) from None


def _problem(response: requests.Response) -> str:
    """Return the one line of a problem document that tells most."""
    try:
        document = response.json()
        return str(document.get("detail") or document["title"])
    except (ValueError, KeyError, AttributeError):
        return f"{response.status_code} {response.reason}"


def _innermost(error: BaseException) -> str:
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__
