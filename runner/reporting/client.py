"""The client of the service's HTTP API."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit
from uuid import UUID

import requests
from pydantic import BaseModel, ValidationError
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase

from runner.contract.commit_search import Search, SearchRequest
from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.contract.gate import BaseAnswer, BaseQuery, GateAnswer, GateReport
from runner.contract.job import Claim, Finish, Job, JobDecision, JobList, JobOrder, Lease, Orders, Progress
from runner.contract.nightly import NightlyDigest, NightlyPart
from runner.contract.nomination import NominationList
from runner.contract.plan import Plan, PlanRequest
from runner.contract.profile import Profile
from runner.contract.report import Receipts, Ref, Report, ReportList, Revision, RevisionList
from runner.contract.setting_search import SettingSearch, SettingSearchRequest
from runner.contract.sign_in import Admission, Identity
from runner.environment.secrets import hide_password
from runner.errors import AlreadyEnded, FaultwatchError, RequestRefused, ServerError, ServiceUnavailable
from runner.execution.execution_log import log_step
from runner.reporting.service_retries import RETRY_SECONDS, make_momentary_retry, retry_while_unavailable

TIMEOUT_SECONDS = (5, 60)
"""Seconds to connect, and to wait for a response."""

_ITEMS_PER_PAGE = 1000
"""The number of list items per request: the most that the service returns."""
_REFUSAL_STATUSES = {400, 409, 413, 422}
"""Status codes by which the service rejects the document itself. Others concern the caller or the address."""
_UNAVAILABLE_STATUSES = {502, 503, 504}


Answer = TypeVar("Answer", bound=BaseModel)


class BearerToken(AuthBase):
    """Adds a token to a request. If it were an ordinary header, a .netrc entry for the host would replace it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Return a request with the token added."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Service:
    """A Faultwatch service at an address.

    Every request is idempotent, so all of them are retried when the connection or the service fails for a moment.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        retry_seconds: float = 0,
        sign_in: Callable[[], str | None] | None = None,
    ) -> None:
        """Connect to a service.

        Parameters
        ----------
        token
            The token to send with each request; None to send none.
        retry_seconds
            Seconds for which to retry while the service is unavailable.
        sign_in
            Called when the token has expired; returns a new one, or None if there is none.
        """
        self.url = url.rstrip("/")
        self._retry_seconds, self._token, self._sign_in = retry_seconds, token, sign_in
        self._print_message: Callable[[str], None] | None = None
        self._make_wait_context: Callable[[], AbstractContextManager[None]] = nullcontext
        self.before_send: Callable[[Report | Profile], None] | None = None
        """Called with each document before it is sent."""
        self._shown_url = hide_password(self.url)
        # Do not use a proxy from the environment for a local service: on another machine, the loopback interface is a
        # different one. None for each scheme switches the proxy off.
        self._proxies: Any = dict.fromkeys(("http", "https", "all")) if _is_loopback(self.url) else None
        self._session = requests.Session()
        self._session.auth = BearerToken(token) if token else None
        if self._proxies:
            # A new local connection costs nothing, and an open one would delay the stop of a local service.
            self._session.headers["Connection"] = "close"
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=make_momentary_retry()))

    def send_revisions(
        self,
        subject: str,
        revisions: Sequence[Revision],
        refs: Sequence[Ref] = (),
        patches: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Send a part of the subject's history, the tags and branches that name its commits, and their patch ids."""
        revision_list = RevisionList(revisions=tuple(revisions), refs=tuple(refs), patches=dict(patches))
        self._request_with_retries("PUT", f"/subjects/{subject}/revisions", revision_list)

    def request_plan(self, request: PlanRequest) -> Plan:
        """Return the service's plan of the runs that are missing."""
        return self._request_model(Plan, "POST", "/plans", request)

    def send_report(self, report: Report) -> None:
        """Send a report; return when the service has stored it.

        Raises
        ------
        RequestRefused
            The service rejects the report for good.
        FaultwatchError
            The service does not accept it now.
        """
        self._send_document(f"/runs/{report.run_id}", report, run_id=report.run_id)

    def send_profile(self, profile: Profile) -> None:
        """Send a profile; return when the service has stored it.

        Raises
        ------
        RequestRefused
            The service rejects the profile for good.
        FaultwatchError
            The service does not accept it now.
        """
        self._send_document(f"/profiles/{profile.profile_id}", profile, profile_id=profile.profile_id)

    def send(self, document: Report | Profile) -> None:
        """Call :attr:`before_send`, then send a report or a profile; return when the service has stored it.

        Raises
        ------
        RequestRefused
            The service rejects the document for good.
        FaultwatchError
            The service does not accept it now.
        """
        if self.before_send:
            self.before_send(document)
        if isinstance(document, Profile):
            self.send_profile(document)
        else:
            self.send_report(document)

    def get_run(self, run_id: str) -> Report:
        """Return a run as it was reported."""
        return self._request_model(Report, "GET", f"/runs/{run_id}")

    def send_reports(self, reports: Sequence[Report]) -> Receipts:
        """Send many reports in one request."""
        return self._request_model(Receipts, "POST", "/runs", ReportList(reports=tuple(reports)))

    def send_stored_request(self, path: str, body: bytes, method: str = "POST") -> Any:
        """Send the stored body of a request; return the answer.

        Raises
        ------
        RequestRefused
            The service rejects the request for good.
        FaultwatchError
            The service does not accept the request now.
        """
        return self._request_with_retries(method, path, body)

    def compare(self, request: ComparisonRequest) -> Comparison:
        """Return the verdict on base and head, which says how many more pairs are needed."""
        return self._request_model(Comparison, "POST", "/comparisons", request)

    def prove(self, request: ComparisonRequest) -> Comparison:
        """Let the service store the proof from interleaved pairs of two commits; return the verdict."""
        return self._request_model(Comparison, "POST", "/proofs", request)

    def list_nominations(self, **filters: str) -> NominationList:
        """Return the nominations: changes that stored runs make likely, the most likely first."""
        return self._request_model(NominationList, "GET", "/nominations", params=filters)

    def search(self, request: SearchRequest) -> Search:
        """Return which commits to measure next in a bisect, or which commits moved a metric."""
        return self._request_model(Search, "POST", "/searches", request)

    def search_settings(self, request: SettingSearchRequest) -> SettingSearch:
        """Return which settings to change in the next measurement of a search, or which settings moved a metric."""
        return self._request_model(SettingSearch, "POST", "/setting-searches", request)

    def diagnose(self, request: DiagnosisRequest) -> Diagnosis:
        """Return the diagnosis of a profile."""
        return self._request_model(Diagnosis, "POST", "/diagnoses", request)

    def sign_in(self, id_token: str) -> str:
        """Exchange the ID token of a CI job for a token of the service."""
        return self._request_model(Admission, "POST", "/sign-in/actions", Identity(token=id_token)).token

    def find_stored_base(self, query: BaseQuery) -> Report | None:
        """Return a stored run that can serve as the base of a comparison; None if there is none."""
        return self._request_model(BaseAnswer, "POST", "/gates/base", query).report

    def judge_gate(self, report: GateReport) -> GateAnswer:
        """Send the measurements of a pull request; return the verdict."""
        return self._request_model(GateAnswer, "POST", "/gates", report)

    def update_nightly_run(self, name: str, part: NightlyPart) -> NightlyDigest:
        """Send planned or measured cells of a nightly run; return its digest."""
        return self._request_model(NightlyDigest, "PUT", f"/nightly-runs/{name}", part)

    def find_nightly_run(self, name: str, *, only_judged: bool = True) -> NightlyDigest:
        """Return the digest of a nightly run; with ``only_judged``, the answer waits until all its runs are judged."""
        return self._request_model(
            NightlyDigest, "GET", f"/nightly-runs/{name}", params={"judged": "true"} if only_judged else None
        )

    def clone_connection(self, retry_seconds: float = 0) -> "Service":
        """Return another connection to the same service, for another thread."""
        return type(self)(self.url, self._token, retry_seconds, self._sign_in)

    def order_job(self, order: JobOrder) -> Job:
        """Order a job and return it; if there is an open job with the same question, return that."""
        return self._request_model(Job, "POST", "/jobs", order)

    def get_job(self, job_id: int) -> Job:
        """Return a job."""
        return self._request_model(Job, "GET", f"/jobs/{job_id}")

    def list_jobs(self, **filters: str) -> JobList:
        """Return jobs, newest first."""
        return self._request_model(JobList, "GET", "/jobs", params=filters)

    def decide_job(self, job_id: int, verb: str, decision: JobDecision) -> Job:
        """Pause, resume or cancel a job."""
        return self._request_model(Job, "POST", f"/jobs/{job_id}/{verb}", decision)

    def claim_job(self, job_id: int, claim: Claim) -> Lease:
        """Claim a job, and return the lease."""
        return self._request_model(Lease, "POST", f"/jobs/{job_id}/claim", claim)

    def report_progress(self, job_id: int, progress: Progress) -> Orders:
        """Report the progress of a job; return the orders for the runner."""
        return self._request_model(Orders, "POST", f"/jobs/{job_id}/progress", progress)

    def finish_job(self, job_id: int, finish: Finish) -> Job:
        """Report how a job ended."""
        return self._request_model(Job, "POST", f"/jobs/{job_id}/finish", finish)

    def list_drifts(self, **filters: str) -> list[dict[str, Any]]:
        """Return the drifts that the service has detected, in the format of its API."""
        return self._list_items("/drifts", {**filters, "judged": "true"})

    def list_series(self, **filters: str) -> list[dict[str, Any]]:
        """Return series without their points, in the format of the service's API."""
        return self._list_items("/series", filters)

    def _list_items(self, path: str, filters: dict[str, str]) -> list[dict[str, Any]]:
        """Return all items of a list, by requesting page after page."""
        items: list[dict[str, Any]] = []
        while True:
            page = {"limit": str(_ITEMS_PER_PAGE), "offset": str(len(items))}
            answer = self._request_with_retries("GET", path, params=filters | page)
            page_items = answer.get("items") if isinstance(answer, dict) else None
            if not isinstance(page_items, list) or not all(isinstance(item, dict) for item in page_items):
                self._raise_not_a_service()
            items += page_items
            if len(page_items) < _ITEMS_PER_PAGE:
                return items

    def check_availability(self) -> None:
        """Check that the service answers. Called before long work whose result will be sent to it.

        Raises
        ------
        FaultwatchError
            No service answers at this URL.
        """
        self._request_with_retries("GET", "/health")

    def connect_with_retries(
        self,
        print_message: Callable[[str], None],
        make_wait_context: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> "Service":
        """Return another connection, for long work: while the service does not answer, it prints a message and waits.

        Parameters
        ----------
        make_wait_context
            Returns a context manager, in whose context it waits.
        """
        connection = self.clone_connection(RETRY_SECONDS)
        connection._print_message, connection._make_wait_context = print_message, make_wait_context
        return connection

    def _request_model(
        self,
        model: type[Answer],
        method: str,
        path: str,
        body: BaseModel | None = None,
        params: dict[str, str] | None = None,
    ) -> Answer:
        """Return the answer to a request as a model."""
        try:
            return model.model_validate(self._request_with_retries(method, path, body, params))
        except ValidationError:
            self._raise_not_a_service()

    def _request_with_retries(
        self, method: str, path: str, body: BaseModel | bytes | None = None, params: dict[str, str] | None = None
    ) -> Any:
        """Send a request; repeat it while the service is unavailable."""
        return retry_while_unavailable(
            lambda: self._request(method, path, body, params),
            self._retry_seconds,
            self._print_message,
            self._make_wait_context,
        )

    def _request(
        self,
        method: str,
        path: str,
        body: BaseModel | bytes | None,
        params: dict[str, str] | None,
        *,
        is_second_attempt: bool = False,
    ) -> Any:
        """Send one request and return the JSON of the response; raise an error with a remedy if it is refused."""
        started_at = time.monotonic()
        try:
            response = self._session.request(
                method,
                f"{self.url}/api/v1{path}",
                data=body.model_dump_json().encode() if isinstance(body, BaseModel) else body,
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                params=params,
                proxies=self._proxies,
                timeout=TIMEOUT_SECONDS,
            )
        except requests.RequestException as error:
            raise ServiceUnavailable(
                f"the service at {self._shown_url} does not answer: {hide_password(_find_innermost(error))}",
                "start it with `faultwatch-service serve`, or unset FAULTWATCH_URL to use a local service",
            ) from None
        log_step(
            "%s %s/api/v1%s: %d, %.2f s",
            method,
            self._shown_url,
            path,
            response.status_code,
            time.monotonic() - started_at,
        )
        if response.status_code == HTTPStatus.UNAUTHORIZED and self._sign_in and not is_second_attempt:
            # The token of a CI job is valid for hours, and a bisect can take longer.
            self._token = self._sign_in()
            self._session.auth = BearerToken(self._token) if self._token else None
            return self._request(method, path, body, params, is_second_attempt=True)
        if not response.ok:
            raise self._build_error(response, f"{method} {path}")
        try:
            return response.json()
        except ValueError:
            self._raise_not_a_service()

    def _build_error(self, response: requests.Response, request_line: str) -> FaultwatchError:
        """Return the error that a response means, with a remedy if there is one."""
        status, reason = response.status_code, _extract_problem(response, request_line)
        verb = "refused" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "could not answer"
        message = f"the service at {self._shown_url} {verb} the request: {reason}"
        if status in _REFUSAL_STATUSES:
            refusal = RequestRefused(message)
            refusal.reason = reason
            retry_after = response.headers.get("Retry-After", "")
            refusal.retry_after = float(retry_after) if retry_after.isdecimal() else None
            return refusal
        if status in _UNAVAILABLE_STATUSES:
            return ServiceUnavailable(message)
        if status == HTTPStatus.GONE:
            return AlreadyEnded(reason)
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return FaultwatchError(message, self._suggest_authentication())
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            return ServerError(message, "the log of the service says why")
        return FaultwatchError(message)

    def _suggest_authentication(self) -> str:
        """Return the advice on how to get a token for this command."""
        remedy = "set FAULTWATCH_TOKEN; `faultwatch-service token new` creates a token"
        if self._token or os.environ.get("GITHUB_ACTIONS") != "true":
            return remedy
        # Without this permission, GitHub does not tell the job the address for requesting an OIDC token.
        return f"give the job `permissions: id-token: write`, or {remedy}"

    def _send_document(self, path: str, document: Report | Profile, **identity: UUID) -> None:
        """Send a document, and check that the answer acknowledges this very document."""
        answer = self._request_with_retries("PUT", path, document)
        # A proxy's welcome page is not a receipt: accept only a response that names the document.
        if not isinstance(answer, dict) or any(answer.get(name) != str(value) for name, value in identity.items()):
            self._raise_not_a_service()

    def _raise_not_a_service(self) -> NoReturn:
        """Raise the error about an answer that no service gives, such as the welcome page of a proxy."""
        raise FaultwatchError(f"{self._shown_url} does not look like a Faultwatch service", "check FAULTWATCH_URL")


def _is_loopback(url: str) -> bool:
    """Return whether the host of an address is this machine."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # It has only one of two brackets.
        return False
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _extract_problem(response: requests.Response, request: str) -> str:
    """Return the most specific line of a problem document; without such a document, the request and the status."""
    try:
        document = response.json()
        return str(document.get("detail") or document["title"])
    except (ValueError, KeyError, AttributeError):  # It is not JSON, has no title, or is not an object.
        return f"{response.status_code} {response.reason} to {request}"


def _find_innermost(error: BaseException) -> str:
    """Return the message of the error that caused all others, or the error's name if it has no message."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__
