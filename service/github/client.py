"""GitHub, as the App that this service is: one short-lived token an installation, with the permissions named."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import requests
from github import Auth, BadCredentialsException, Github, GithubException, GithubIntegration
from github.Repository import Repository

from service.github.settings import GithubSettings

PERMISSIONS = {"checks": "write", "pull_requests": "write", "actions": "write", "metadata": "read"}
"""What each token is given, and no more: the check run, the comment, ordering workflows."""
_TIMEOUT = 10
_BETWEEN_WRITES = 0.25

Failure = (GithubException, requests.RequestException)
"""What a call raises where GitHub did not take it, or did not answer."""
_T = TypeVar("_T")


class Client:
    """Speaks to GitHub as the App."""

    def __init__(self, settings: GithubSettings) -> None:
        self._settings = settings
        self._app = Auth.AppAuth(settings.app_id, settings.key)
        self._known: dict[str, Repository] = {}

    @property
    def app_id(self) -> int:
        """Number of the App."""
        return self._settings.app_id

    def with_repository(self, name: str, work: Callable[[Repository], _T]) -> _T:
        """Do something with a repository; once more with a new token where GitHub does not take the one at hand."""
        try:
            return work(self._repository(name))
        except BadCredentialsException:
            self._known.pop(name, None)
            return work(self._repository(name))

    def _repository(self, name: str) -> Repository:
        if name not in self._known:
            owner, _, plain = name.partition("/")
            app = GithubIntegration(
                auth=self._app,
                base_url=self._settings.api,
                timeout=_TIMEOUT,
                retry=None,
                seconds_between_requests=0,
                seconds_between_writes=0,
            )
            installation = app.get_repo_installation(owner, plain).id
            github = Github(
                auth=Auth.AppInstallationAuth(self._app, installation, PERMISSIONS),
                base_url=self._settings.api,
                timeout=_TIMEOUT,
                retry=None,
                seconds_between_requests=0,
                seconds_between_writes=_BETWEEN_WRITES,
            )
            self._known[name] = github.get_repo(name)
        return self._known[name]
