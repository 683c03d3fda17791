"""What a person is told when something cannot be done."""


class FaultwatchError(Exception):
    """Something that the caller can mend: says what is wrong, where, and what to do about it.

    Commands print it as one line and end with exit code 2.
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{what} ({remedy})" if remedy else what)


class RequestRefused(FaultwatchError):
    """The service read a document and will never take it as it is: sending it again is of no use.

    Attributes
    ----------
    retry_after
        Seconds after which it may take it all the same, where it said so.
    """

    retry_after: float | None = None


class AlreadyEnded(FaultwatchError):
    """What was asked for is done, or given up, already."""


class ServiceUnavailable(FaultwatchError):
    """The service does not answer for now."""


class ServerError(FaultwatchError):
    """The service failed over one request; it may take another one, and this one later."""
