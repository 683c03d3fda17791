"""The registry of forges. To add a forge, write its package and add a line here."""

from __future__ import annotations

import os
from collections.abc import Mapping

from service.config.settings import Config
from service.forges.forgejo.package import PACKAGE as FORGEJO
from service.forges.github.package import PACKAGE as GITHUB
from service.forges.gitlab.package import PACKAGE as GITLAB

FORGES = {package.kind: package for package in (GITHUB, GITLAB, FORGEJO)}
"""The packages of all forges, in the order in which their settings are shown."""
SETTINGS = tuple(package.settings for package in FORGES.values())


def read_config(environment: Mapping[str, str] = os.environ) -> Config:
    """Read the settings of the service with those of all forges.

    Raises
    ------
    ServiceError
        If a value is not valid, or a file cannot be read.
    """
    return Config.from_environment(environment, SETTINGS)
