"""Calls GitLab, with errors that say when to call again."""

from __future__ import annotations

from typing import Any

import gitlab
import requests
from gitlab.exceptions import GitlabError

from service.config.forge_settings import TokenForge
from service.forges.forge import Refusal

_TIMEOUT = 10


class _Session(requests.Session):
    """Remembers the headers of the last answer: they say how long to wait, and python-gitlab's errors lack them."""

    last_headers: dict[str, str]

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        self.last_headers = {}
        response = super().request(*arguments, **options)
        self.last_headers = {name.lower(): value for name, value in response.headers.items()}
        return response


class Client(gitlab.Gitlab):
    """GitLab's API. It never sleeps: the worker decides when to call again."""

    def __init__(self, settings: TokenForge) -> None:
        self._session = _Session()
        super().__init__(
            settings.url, private_token=settings.token, timeout=_TIMEOUT, per_page=100, session=self._session
        )

    def http_request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request; a rate limit is an error as any other."""
        return super().http_request(*arguments, **{**options, "obey_rate_limit": False})

    def refusal(self, error: Exception) -> Refusal | None:
        """Return why the last call failed; None for another exception."""
        if isinstance(error, GitlabError):
            return Refusal(error.response_code, str(error.error_message or error), dict(self._session.last_headers))
        return Refusal(None, str(error)) if isinstance(error, requests.RequestException) else None
