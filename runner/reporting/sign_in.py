"""Sign in to the service with the identity that GitHub gives a job: no secret is kept anywhere."""

import os
from collections.abc import Mapping

import requests

from runner.errors import FaultwatchError
from runner.reporting.client import TIMEOUT, Service

_URL = "ACTIONS_ID_TOKEN_REQUEST_URL"
_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_TOKEN"  # noqa: S105 - the name of a variable


def sign_in(url: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return a token of the service at an address; None outside of a job that has an identity.

    Raises
    ------
    FaultwatchError
        Where GitHub gives none, or the service does not take it.
    """
    address, bearer = environment.get(_URL), environment.get(_TOKEN)
    if not address or not bearer:
        return None
    audience = url.rstrip("/")
    try:
        # Within the address there may be a query already.
        answer = requests.get(
            address, params={"audience": audience}, headers={"Authorization": f"Bearer {bearer}"}, timeout=TIMEOUT
        )
        answer.raise_for_status()
        identity = str(answer.json()["value"])
    except (requests.RequestException, ValueError, KeyError, TypeError) as error:
        raise FaultwatchError(
            f"GitHub gives this job no identity: {type(error).__name__}", "give the job `permissions: id-token: write`"
        ) from None
    return Service(url).sign_in(identity)
