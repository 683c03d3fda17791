"""GitHub, as the App that this service is: one short-lived token an installation, with the permissions named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeVar, cast

import requests
from github import Auth, BadCredentialsException, Github, GithubException, GithubIntegration
from github.Repository import Repository

from service.config.github_app import GithubSettings

PERMISSIONS = {"checks": "write", "pull_requests": "write", "actions": "write", "metadata": "read"}
"""What each token is given, and no more: the check run, the comment, ordering workflows."""
REGISTERING = {"administration": "write"}
"""What the token is given by which runners of Actions are let in, and nothing else."""
_TIMEOUT = 10
_BETWEEN_WRITES = 0.25

Failure = (GithubException, requests.RequestException)
"""What a call raises where GitHub did not take it, or did not answer."""
Purpose = Literal["registration", "remove"]
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

    def runner_token(self, name: str, purpose: Purpose) -> Mapping[str, str]:
        """Return a ``token`` by which a runner of a repository registers or goes, and when it ``expires_at``."""
        repository = self._reached(name, REGISTERING)
        _, answer = repository.requester.requestJsonAndCheck(
            "POST", f"{repository.url}/actions/runners/{purpose}-token"
        )
        return cast("Mapping[str, str]", answer)

    def _repository(self, name: str) -> Repository:
        if name not in self._known:
            self._known[name] = self._reached(name, PERMISSIONS)
        return self._known[name]

    def _reached(self, name: str, permissions: dict[str, str]) -> Repository:
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
            auth=Auth.AppInstallationAuth(self._app, installation, permissions),
            base_url=self._settings.api,
            timeout=_TIMEOUT,
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=_BETWEEN_WRITES,
        )
        return github.get_repo(name)
