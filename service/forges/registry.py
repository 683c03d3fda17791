"""The registry of forges: to add one, add its package and a line here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from service.config.settings import Config
from service.forges.forgejo.settings import ForgejoSettings
from service.forges.github.settings import GithubSettings
from service.forges.gitlab.settings import GitlabSettings

SETTINGS = (GithubSettings, GitlabSettings, ForgejoSettings)


def read_config(environment: Mapping[str, str] = os.environ) -> Config:
    """Read the settings of the service with those of all forges.

    Raises
    ------
    ServiceError
        If a value is not valid, or a file cannot be read.
    """
    return Config.from_environment(environment, SETTINGS)
