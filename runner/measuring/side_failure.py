"""Names the side of a pair that cannot be measured."""

from collections.abc import Iterator
from contextlib import contextmanager

from runner.measuring.environment_change import InvalidSession
from runner.measuring.trial import Trial
from runner.perf.program_failure import ExecutionFailure


class SideFailure(Exception):
    """The program of one side of a pair has failed, or the host has invalidated the execution of this side.

    Attributes
    ----------
    trial
        The side.
    failure
        Why it cannot be measured.
    """

    def __init__(self, trial: Trial, failure: ExecutionFailure | InvalidSession) -> None:
        super().__init__(str(failure))
        self.trial = trial
        self.failure = failure


@contextmanager
def name_failed_side(trial: Trial) -> Iterator[None]:
    """Turn a failed program or an invalid session into a :class:`SideFailure`, which names the side."""
    try:
        yield
    except (ExecutionFailure, InvalidSession) as failure:
        raise SideFailure(trial, failure) from failure
