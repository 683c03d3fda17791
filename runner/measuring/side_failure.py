"""Names the side of a pair whose program fails."""

from collections.abc import Iterator
from contextlib import contextmanager

from runner.measuring.trial import Trial
from runner.perf.perf_stat import ExecutionFailure


class SideFailure(Exception):
    """The program of one side of a pair has failed."""

    def __init__(self, trial: Trial, failure: ExecutionFailure) -> None:
        super().__init__(failure.message)
        self.trial = trial
        self.failure = failure


@contextmanager
def name_failed_side(trial: Trial) -> Iterator[None]:
    """Turn a failure of a program within the context into a :class:`SideFailure`, which names the side.

    A spoiled session is passed on as it is.
    """
    try:
        yield
    except ExecutionFailure as failure:
        raise SideFailure(trial, failure) from failure
