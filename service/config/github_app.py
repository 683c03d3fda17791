"""Reads the settings of the GitHub App from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from service.errors import ServiceError

_APP = "FAULTWATCH_GITHUB_APP"
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
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> GithubSettings | None:
        """Read FAULTWATCH_GITHUB_APP, _KEY_FILE, _SECRET_FILE, _API and _WORKFLOW, and FAULTWATCH_ADDRESS.

        Return None where no App is set.
        """
        app = environment.get(_APP)
        if not app:
            return None
        if not app.isdecimal():
            raise ServiceError("Not the number of an App", f"{_APP}={app}", "Its page on GitHub shows its App ID.")
        secret = _file(environment, _SECRET).strip().encode()
        if len(secret) < _SHORTEST_SECRET:
            remedy = f"Use at least {_SHORTEST_SECRET} characters: `openssl rand -hex 32` generates some."
            raise ServiceError("The webhook's secret is too short", _SECRET, remedy)
        return cls(
            app_id=int(app),
            key=_file(environment, _KEY),
            secret=secret,
            api=(environment.get("FAULTWATCH_GITHUB_API") or cls.api).rstrip("/"),
            address=(environment.get("FAULTWATCH_ADDRESS") or "").rstrip("/"),
            workflow=environment.get("FAULTWATCH_GITHUB_WORKFLOW") or cls.workflow,
        )


def _file(environment: Mapping[str, str], name: str) -> str:
    try:
        return Path(environment.get(name) or "").expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        remedy = "Set the variable to the path of the file."
        raise ServiceError("A file of the GitHub App cannot be read", f"{name}: {reason}", remedy) from None
