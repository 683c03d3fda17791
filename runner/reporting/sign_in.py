"""Signs in to the service with the identity that GitHub gives a job, so that no secret needs to be stored."""

import os
from collections.abc import Mapping

import requests

from runner.errors import FaultwatchError
from runner.reporting.client import TIMEOUT_SECONDS, Service

_URL = "ACTIONS_ID_TOKEN_REQUEST_URL"
_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"  # noqa: S105 - the name of a variable


def sign_in(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return a token for the service at an address; None outside a job with an identity.

    Raises
    ------
    FaultwatchError
        GitHub provides no identity, or the service does not accept it.
    """
    address, bearer = environment.get(_URL), environment.get(_TOKEN)
    if not address or not bearer:
        return None
    audience = url.rstrip("/")
    try:
        # The address may already contain a query.
        answer = requests.get(
            address,
            params={"audience": audience},
            headers={"Authorization": f"Bearer {bearer}"},
            timeout=TIMEOUT_SECONDS,
        )
        answer.raise_for_status()
        identity = str(answer.json()["value"])
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise FaultwatchError(
            f"GitHub provides no identity for this job: {type(error).__name__}",
            "give the job `permissions: id-token: write`",
        ) from None
    return Service(url).sign_in(identity)
