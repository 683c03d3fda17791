"""Reads the settings of the GitHub App, and its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from service.errors import ServiceError

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
        secret = _content(given.github_secret_file, _SECRET).strip().encode()
        if len(secret) < _SHORTEST_SECRET:
            remedy = f"Use at least {_SHORTEST_SECRET} characters: `openssl rand -hex 32` generates some."
            raise ServiceError("The webhook's secret is too short", _SECRET, remedy)
        return cls(
            app_id=given.github_app,
            key=_content(given.github_key_file, _KEY),
            secret=secret,
            api=given.github_api.rstrip("/"),
            address=given.address.rstrip("/"),
            workflow=given.github_workflow,
        )


def _content(file: Path | None, variable: str) -> str:
    reason = "it is not set"
    if file is not None:
        try:
            return file.expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = (error.strerror or "") if isinstance(error, OSError) else "it is not text"
    remedy = "Set the variable to the path of the file."
    raise ServiceError("A file of the GitHub App cannot be read", f"{variable}: {reason}", remedy)
