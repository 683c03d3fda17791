"""Signs in to the service with the OIDC token that GitHub issues to a job, so that no secret has to be stored."""

import os
from collections.abc import Mapping

import requests

from runner.errors import FaultwatchError
from runner.reporting.client import TIMEOUT_SECONDS, BearerToken, Service

_URL = "ACTIONS_ID_TOKEN_REQUEST_URL"
_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"  # noqa: S105 - the name of a variable


def sign_in(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return a token for the service at a URL; None if this is not a job that may request an OIDC token.

    GitHub sets the variables only for jobs with ``permissions: id-token: write``. If they are missing and the service
    refuses a request without a token, the error of the client mentions this permission.

    Raises
    ------
    FaultwatchError
        GitHub does not issue an OIDC token, or the service does not accept it.
    """
    request_url, request_token = environment.get(_URL), environment.get(_TOKEN)
    if not request_url or not request_token:
        return None
    audience = url.rstrip("/")
    try:
        # The URL may already contain a query.
        answer = requests.get(
            request_url,
            params={"audience": audience},
            auth=BearerToken(request_token),
            timeout=TIMEOUT_SECONDS,
        )
        answer.raise_for_status()
        id_token = str(answer.json()["value"])
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise FaultwatchError(
            f"GitHub did not issue an OIDC token for this job: {type(error).__name__}", "run the job again"
        ) from None
    return Service(url).sign_in(id_token)
