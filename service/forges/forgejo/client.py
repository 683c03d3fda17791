"""Calls the API of Forgejo, as each server describes it (``/swagger.v1.json``); Gitea's is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import requests

from service.config.forge_settings import TokenForge
from service.forges.forge import Refusal

_TIMEOUT = 10
_PAGE = 50
"""Entries of a page: the most that a server gives by default."""
_LONGEST_ERROR = 300


class ForgejoError(Exception):
    """Forgejo refused a call."""

    def __init__(self, response: requests.Response) -> None:
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        super().__init__(_message(response))


class Client:
    """Forgejo's API, as the user whose token the service has."""

    def __init__(self, settings: TokenForge) -> None:
        self._base = f"{settings.url}/api/v1"
        self._session = requests.Session()
        self._session.trust_env = False  # a .netrc would replace the token
        self._session.headers.update({"Authorization": f"token {settings.token}", "Accept": "application/json"})

    def call(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        """Call the API; return what it answers.

        Raises
        ------
        ForgejoError
            It answers with an error.
        requests.RequestException
            It does not answer.
        """
        return self._send(method, f"{self._base}{path}", content).json()

    def listed(self, path: str) -> Iterator[Any]:
        """Return all entries of a list, page by page: an answer links to the next one."""
        address: str | None = f"{self._base}{path}?limit={_PAGE}"
        while address:
            response = self._send("GET", address, None)
            yield from response.json()
            following = response.links.get("next", {}).get("url")
            # A server may know itself by another address, to which the token must not go.
            address = f"{self._base}{path}?{following.partition('?')[2]}" if following else None

    def _send(self, method: str, address: str, content: Mapping[str, Any] | None) -> requests.Response:
        response = self._session.request(method, address, json=content, timeout=_TIMEOUT, allow_redirects=False)
        if not 200 <= response.status_code < 300:
            raise ForgejoError(response)
        return response


def refusal(error: Exception) -> Refusal | None:
    """Return why a call failed; None for another exception."""
    if isinstance(error, ForgejoError):
        return Refusal(error.status, str(error), error.headers)
    return Refusal(None, str(error)) if isinstance(error, requests.RequestException) else None


def _message(response: requests.Response) -> str:
    try:
        message = response.json()["message"]
    except (ValueError, KeyError, TypeError):
        message = response.reason
    return f"{response.status_code}: {message}"[:_LONGEST_ERROR]
