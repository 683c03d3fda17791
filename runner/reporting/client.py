"""The service's HTTP API, as the runner uses it."""

import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, NoReturn
from uuid import UUID

import requests
from pydantic import BaseModel, ValidationError
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3 import BaseHTTPResponse
from urllib3.util.retry import Retry

from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.contract.gate import BaseAnswer, BaseQuery, GateAnswer, GateReport
from runner.contract.job import Claim, Finish, Job, JobDecision, JobList, JobOrder, Lease, Orders, Progress
from runner.contract.knob_search import KnobSearch, KnobSearchRequest
from runner.contract.night import NightDigest, NightPart
from runner.contract.plan import Plan, PlanRequest
from runner.contract.profile import Profile
from runner.contract.report import Receipts, Report, ReportList, Revision, RevisionList
from runner.contract.search import Search, SearchRequest
from runner.contract.sign_in import Admission, Identity
from runner.environment.secrets import without_password
from runner.errors import AlreadyEnded, FaultwatchError, RequestRefused, ServerError, ServiceUnavailable

TIMEOUT = (5, 60)
"""Seconds to connect, and to wait for an answer."""
FIRST_PAUSE = 0.2
LONGEST_WAIT = 5.0
"""Seconds that one command waits where the service asks for patience; what cannot be sent waits on disk."""

_REFUSALS = {400, 409, 413, 422}
"""What the service says of a document itself. The other refusals say something of the caller or of the address."""
_AWAY = {502, 503, 504}


class _Patience(Retry):
    """Tries again where the connection or the service fails for a moment, but not for as long as a server likes."""

    def get_retry_after(self, response: BaseHTTPResponse) -> float | None:
        """Return the seconds that the server asks for, within reason; None where it says nothing that can be read."""
        try:
            asked = super().get_retry_after(response)
        except Exception:  # whatever a broken server wrote there
            return None
        return None if asked is None else min(asked, LONGEST_WAIT)


class _Bearer(AuthBase):
    """Shows a token. As a header of the session, whatever a .netrc says of the host would take its place."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Service:
    """A Faultwatch service at an address.

    Every request may be sent twice without harm, so all of them are tried again when the connection or the service
    fails for a moment.
    """

    def __init__(
        self, url: str, token: str | None = None, patience: float = 0, sign_in: Callable[[], str | None] | None = None
    ) -> None:
        """Speak to a service.

        Parameters
        ----------
        patience
            Seconds for which to try again where it is away.
        sign_in
            Gets another token, where the one at hand does not hold any more.
        """
        self.url = url.rstrip("/")
        self._patience, self._token, self._sign_in = patience, token, sign_in
        self.before_send: Callable[[Report | Profile], None] | None = None
        """Is told of each document that is about to be sent."""
        self._shown = without_password(self.url)
        self._session = requests.Session()
        self._session.auth = _Bearer(token) if token else None
        retry = _Patience(
            total=4,
            read=1,  # a service that is silent for so long is not silent for a moment
            backoff_factor=0.2,
            status_forcelist=(429, 500, 502, 503, 504),
            allowed_methods=None,
            raise_on_status=False,
        )
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def send_revisions(self, subject: str, revisions: Sequence[Revision]) -> None:
        """Tell the service a stretch of the subject's history."""
        self._call("PUT", f"/subjects/{subject}/revisions", RevisionList(revisions=tuple(revisions)))

    def plan(self, request: PlanRequest) -> Plan:
        """Ask what is left to measure."""
        return Plan.model_validate(self._call("POST", "/plans", request))

    def send_report(self, report: Report) -> None:
        """Hand over a report. Returns once the service has stored it.

        Raises
        ------
        Refused
            Where the service will never take this report.
        FaultwatchError
            Where it did not take it now.
        """
        self._hand_over(f"/runs/{report.run_id}", report, run_id=report.run_id)

    def send_profile(self, profile: Profile) -> None:
        """Hand over a profile. Returns once the service has stored it.

        Raises
        ------
        Refused
            Where the service will never take this profile.
        FaultwatchError
            Where it did not take it now.
        """
        self._hand_over(f"/profiles/{profile.profile_id}", profile, profile_id=profile.profile_id)

    def send(self, document: Report | Profile) -> None:
        """Hand over whichever it is."""
        if self.before_send:
            self.before_send(document)
        if isinstance(document, Profile):
            self.send_profile(document)
        else:
            self.send_report(document)

    def run(self, run_id: str) -> Report:
        """Return a run as it was reported."""
        return Report.model_validate(self._call("GET", f"/runs/{run_id}"))

    def send_reports(self, reports: Sequence[Report]) -> Receipts:
        """Hand over many reports at once."""
        try:
            return Receipts.model_validate(self._call("POST", "/runs", ReportList(reports=tuple(reports))))
        except ValidationError:
            self._not_a_service()

    def compare(self, request: ComparisonRequest) -> Comparison:
        """Ask what is known about base and head, and how many pairs are still needed."""
        return Comparison.model_validate(self._call("POST", "/comparisons", request))

    def search(self, request: SearchRequest) -> Search:
        """Ask which commits to measure next to find those that moved a metric, or which they are."""
        return Search.model_validate(self._call("POST", "/searches", request))

    def search_knobs(self, request: KnobSearchRequest) -> KnobSearch:
        """Ask with which knobs changed to measure next to find those that moved a metric, or which they are."""
        return KnobSearch.model_validate(self._call("POST", "/knob-searches", request))

    def diagnose(self, request: DiagnosisRequest) -> Diagnosis:
        """Ask what a profile shows."""
        return Diagnosis.model_validate(self._call("POST", "/diagnoses", request))

    def sign_in(self, identity: str) -> str:
        """Show the identity of a CI job; return a token."""
        return Admission.model_validate(self._call("POST", "/sign-in/actions", Identity(token=identity))).token

    def stored_base(self, query: BaseQuery) -> Report | None:
        """Return a run that was made before, if one would do for the base of a comparison."""
        return BaseAnswer.model_validate(self._call("POST", "/gates/base", query)).report

    def gate(self, report: GateReport) -> GateAnswer:
        """Hand over what was measured for a pull request; return the verdict."""
        return GateAnswer.model_validate(self._call("POST", "/gates", report))

    def update_night(self, name: str, part: NightPart) -> NightDigest:
        """Tell what is planned for a night, or what a host has carried out of it; return the night as it stands."""
        return NightDigest.model_validate(self._call("PUT", f"/nights/{name}", part))

    def new_connection(self, patience: float = 0) -> "Service":
        """Return another connection to the same service: no two threads may use one."""
        return type(self)(self.url, self._token, patience, self._sign_in)

    def order_job(self, order: JobOrder) -> Job:
        """Order a job, or find the open one with the same question."""
        return Job.model_validate(self._call("POST", "/jobs", order))

    def job(self, job_id: int) -> Job:
        """Return a job as it stands."""
        return Job.model_validate(self._call("GET", f"/jobs/{job_id}"))

    def jobs(self, **filters: str) -> JobList:
        """Return jobs, the newest first."""
        return JobList.model_validate(self._call("GET", "/jobs", params=filters))

    def decide_job(self, job_id: int, verb: str, decision: JobDecision) -> Job:
        """Pause, resume or cancel a job."""
        return Job.model_validate(self._call("POST", f"/jobs/{job_id}/{verb}", decision))

    def claim_job(self, job_id: int, claim: Claim) -> Lease:
        """Take a job on."""
        return Lease.model_validate(self._call("POST", f"/jobs/{job_id}/claim", claim))

    def progress_job(self, job_id: int, progress: Progress) -> Orders:
        """Tell how far a job is; hear whether to go on."""
        return Orders.model_validate(self._call("POST", f"/jobs/{job_id}/progress", progress))

    def finish_job(self, job_id: int, finish: Finish) -> Job:
        """End the work on a job."""
        return Job.model_validate(self._call("POST", f"/jobs/{job_id}/finish", finish))

    def drifts(self, **filters: str) -> list[dict[str, Any]]:
        """Return the drifts that the service sees, as its API describes them."""
        answer = self._call("GET", "/drifts", params=filters)
        return list(answer["items"])

    def _call(self, method: str, path: str, body: BaseModel | None = None, params: dict[str, str] | None = None) -> Any:
        deadline, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            try:
                return self._ask(method, path, body, params)
            except ServiceUnavailable:
                if time.monotonic() + pause > deadline:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_WAIT)

    def _ask(
        self, method: str, path: str, body: BaseModel | None, params: dict[str, str] | None, *, expired: bool = False
    ) -> Any:
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
            raise ServiceUnavailable(
                f"the service at {self._shown} does not answer: {without_password(_innermost(error))}",
                "start it with `faultwatch-service serve`, or unset FAULTWATCH_URL to use a local one",
            ) from None
        if response.status_code == HTTPStatus.UNAUTHORIZED and self._sign_in and not expired:
            # What a CI job signed in with holds for hours, and a bisect can take longer.
            self._token = self._sign_in()
            self._session.auth = _Bearer(self._token) if self._token else None
            return self._ask(method, path, body, params, expired=True)
        if not response.ok:
            said = f"the service at {self._shown} refused {method} {path}: {_problem(response)}"
            if response.status_code in _REFUSALS:
                refused = RequestRefused(said)
                wait = response.headers.get("Retry-After", "")
                refused.retry_after = float(wait) if wait.isdecimal() else None
                raise refused
            if response.status_code in _AWAY:
                raise ServiceUnavailable(said)
            if response.status_code == HTTPStatus.GONE:
                raise AlreadyEnded(_problem(response))
            if response.status_code in {401, 403}:
                raise FaultwatchError(said, "set FAULTWATCH_TOKEN: `faultwatch-service token new` makes one")
            raise ServerError(said) if response.status_code == 500 else FaultwatchError(said)
        try:
            return response.json()
        except ValueError:
            self._not_a_service()

    def _hand_over(self, path: str, document: Report | Profile, **named: UUID) -> None:
        answer = self._call("PUT", path, document)
        # A proxy's page of welcome is no receipt: only one that names the document lets go of it.
        if not isinstance(answer, dict) or any(answer.get(name) != str(value) for name, value in named.items()):
            self._not_a_service()

    def _not_a_service(self) -> NoReturn:
        raise FaultwatchError(f"{self._shown} did not answer like a Faultwatch service", "check FAULTWATCH_URL")


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
