"""Errors that a person can act on."""


class ServiceError(Exception):
    """The service cannot go on: says what happened, where, and what to do about it, in one line."""

    def __init__(self, what: str, where: str, remedy: str) -> None:
        super().__init__(f"{what}: {where}. {remedy}")
