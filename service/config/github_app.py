"""Reads the settings of the GitHub App, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from service.config.secret_files import read_long_secret, read_secret

if TYPE_CHECKING:
    from service.config.variables import ServiceVariables

_KEY = "FAULTWATCH_GITHUB_KEY_FILE"
_SECRET = "FAULTWATCH_GITHUB_SECRET_FILE"  # noqa: S105 - the name of a variable
_SHORTEST_SECRET = 16


@dataclass(frozen=True)
class GithubSettings:
    """The GitHub App as which the service acts.

    Attributes
    ----------
    app_id
        Number of the App.
    key
        Private key of the App, PEM.
    secret
        The secret with which GitHub signs webhooks.
    api
        Address of GitHub's API.
    address
        Address at which people reach this service, for links; empty where they cannot.
    workflow
        Name of the workflow file that measures a pull request.
    """

    app_id: int
    key: str = field(repr=False)
    secret: bytes = field(repr=False)
    api: str = "https://api.github.com"
    address: str = ""
    workflow: str = "faultwatch.yml"

    @classmethod
    def from_variables(cls, given: ServiceVariables) -> GithubSettings | None:
        """Read the App's files; return None where no App is set.

        Raises
        ------
        ServiceError
            If a file cannot be read, or the secret is too short.
        """
        if given.github_app is None:
            return None
        secret = read_long_secret(given.github_secret_file, _SECRET, _SHORTEST_SECRET, "The webhook's secret")
        return cls(
            app_id=given.github_app,
            key=read_secret(given.github_key_file, _KEY),
            secret=secret,
            api=given.github_api.rstrip("/"),
            address=given.address.rstrip("/"),
            workflow=given.github_workflow,
        )
