"""Errors that commands report to the user."""


class FaultwatchError(Exception):
    """An error that the user can fix. It says what is wrong, where, and what to do.

    Commands print it as one line and exit with code 2.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{what} ({remedy})" if remedy else what)


class RequestRefused(FaultwatchError):
    """The service rejected a document permanently, so sending it again does not help.

    Attributes
    ----------
    reason
        The reason that the service gave.
    retry_after
        Seconds after which the service may accept the document after all; None if the service did not say so.
    """

    reason: str = ""
    retry_after: float | None = None


class AlreadyEnded(FaultwatchError):
    """The requested work is already done or cancelled."""


class ServiceUnavailable(FaultwatchError):
    """The service does not answer at the moment."""


class ServerError(FaultwatchError):
    """The service failed while it processed a request. It may accept other requests, and the same one later."""
