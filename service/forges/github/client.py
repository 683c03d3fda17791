"""Calls GitHub as the App, with a short-lived token for each repository that has only the necessary permissions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar, cast

import requests
from github import (
    Auth,
    BadCredentialsException,
    Github,
    GithubException,
    GithubIntegration,
    UnknownObjectException,
)
from github.Repository import Repository

from service.forges.forge import Refusal
from service.forges.github.settings import GithubSettings

PERMISSIONS = {"checks": "write", "pull_requests": "write", "actions": "write", "metadata": "read"}
"""Permissions of the usual token: to write check runs and comments, and to start workflows."""
REGISTRATION_PERMISSIONS = {"administration": "write"}
"""Permissions of the token that registers self-hosted runners of GitHub Actions."""
_TIMEOUT_SECONDS = 10
_SECONDS_BETWEEN_WRITES = 0.25
"""Pause before each write, so that many comments at once do not exceed GitHub's limits."""

CALL_ERRORS = (GithubException, requests.RequestException)
"""The exceptions of a call that GitHub refuses or does not answer."""


def find_refusal(error: Exception) -> Refusal | None:
    """Return why a call failed; None for an exception that does not come from a call."""
    if isinstance(error, GithubException):
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        return Refusal(error.status, str(error.message or error), headers)
    return Refusal(None, str(error)) if isinstance(error, CALL_ERRORS) else None


Purpose = Literal["registration", "remove"]
_T = TypeVar("_T")


class Client:
    """Calls GitHub as the App."""

    def __init__(self, settings: GithubSettings) -> None:
        self._settings = settings
        self._app = Auth.AppAuth(settings.app_id, settings.key)
        self._repositories: dict[str, Repository] = {}

    @property
    def app_id(self) -> int:
        """Id of the App."""
        return self._settings.app_id

    def call_with_repository(self, name: str, work: Callable[[Repository], _T]) -> _T:
        """Do some work with a repository; repeat it with a new token if GitHub rejects the current one."""
        try:
            return work(self._get_repository(name))
        except BadCredentialsException:
            self._repositories.pop(name, None)
            return work(self._get_repository(name))

    def request_runner_token(self, name: str, purpose: Purpose) -> Mapping[str, str]:
        """Return the ``token`` to register or remove a runner of a repository, and its expiry, ``expires_at``."""
        repository = self._connect_repository(name, REGISTRATION_PERMISSIONS)
        _, answer = repository.requester.requestJsonAndCheck(
            "POST", f"{repository.url}/actions/runners/{purpose}-token"
        )
        return cast("Mapping[str, str]", answer)

    def _get_repository(self, name: str) -> Repository:
        repository = self._repositories.get(name)
        if repository is None or not _has_installation(repository):
            repository = self._repositories[name] = self._connect_repository(name, PERMISSIONS)
        return repository

    def _connect_repository(self, name: str, permissions: dict[str, str]) -> Repository:
        """Return a repository, with a token of the App's installation there.

        Failed calls are not repeated here, because the worker tries again later.
        """
        owner, _, short_name = name.partition("/")
        app = GithubIntegration(
            auth=self._app,
            base_url=self._settings.api,
            timeout=_TIMEOUT_SECONDS,
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )
        installation = app.get_repo_installation(owner, short_name).id
        github = Github(
            auth=Auth.AppInstallationAuth(self._app, installation, permissions),
            base_url=self._settings.api,
            timeout=_TIMEOUT_SECONDS,
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=_SECONDS_BETWEEN_WRITES,
        )
        return github.get_repo(name)


def _has_installation(repository: Repository) -> bool:
    """Return whether the installation by which a repository was connected still gives tokens.

    It gives none after the App was removed from the repository. If the App is installed again, that is another
    installation.
    """
    try:
        # This requests a new token only if the present one is about to expire.
        return repository.requester.auth is not None and bool(repository.requester.auth.token)
    except UnknownObjectException:
        return False
