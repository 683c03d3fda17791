"""Starts Faultwatch's own modules in their own processes, so that the current directory cannot replace them.

``python -m NAME`` puts the current directory first on ``sys.path``, and ``PYTHONPATH`` may name it. That directory is
often the checkout of a pull request.
"""

import os
import re
import sys
from collections.abc import Mapping

SAFE_DIRECTORY = "/"
"""The directory in which these processes start: only root can write there."""

_PYTHON_VARIABLE = re.compile(r"PYTHON.*|LD_PRELOAD|LD_AUDIT|GIT_.*")
"""Variables that choose what Python, the loader or git runs."""
_CREDENTIALS = re.compile(r"ACTIONS_(?:ID_TOKEN_REQUEST|RUNTIME)_.*|GITHUB_TOKEN|GH_TOKEN")
"""Credentials of a CI job, which the service never needs."""


def build_module_command(name: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of the runner or the service."""
    return build_installed_command("faultwatch.module", name, *arguments)


def build_installed_command(name: str, *arguments: str) -> list[str]:
    """Return the command line that runs an installed module, regardless of the content of the current directory."""
    return [sys.executable, "-P", "-m", name, *arguments]


def build_own_environment(variables: Mapping[str, str] = os.environ, *, credentials: bool = False) -> dict[str, str]:
    """Return the environment variables for a process of Faultwatch, with or without the credentials of a CI job.

    Those that choose what Python, the loader or git runs are left out.
    """
    return {
        name: value
        for name, value in variables.items()
        if not _PYTHON_VARIABLE.fullmatch(name) and (credentials or not _CREDENTIALS.fullmatch(name))
    }


def build_script_command(text: str) -> list[str]:
    """Return the command line that runs a script of Faultwatch's own, which can import only the standard library."""
    return [sys.executable, "-I", "-S", "-c", text]
