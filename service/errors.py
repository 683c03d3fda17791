"""Defines the errors that a person can act on."""


class ServiceError(Exception):
    """The service cannot continue. The message says in one line what happened, where, and what to do about it."""

    def __init__(self, what: str, where: str, remedy: str) -> None:
        super().__init__(f"{what}: {where}. {remedy}")
