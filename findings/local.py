"""Keeps what is measured here on this machine."""

import os

_ELSEWHERE = ("DATABASE_URL", "FAULTWATCH_TOKEN", "FAULTWATCH_TOKEN_FILE", "FAULTWATCH_URL")


def forget_services() -> None:
    """Let this process and its commands use no service and no database but those of their own data folder.

    Whoever develops Faultwatch often has one in the environment, which hundreds of test revisions would go to.
    """
    for name in _ELSEWHERE:
        os.environ.pop(name, None)
