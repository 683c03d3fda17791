"""A command that was tried, with what it counted."""

from msgspec import Struct

from runner.adoption.proposal import RunProposal


class TriedCommand(Struct, frozen=True):
    """A command that was tried.

    Attributes
    ----------
    faults
        Its minor faults in each execution; empty if it failed.
    problem
        Why it failed, a line.
    timed_out
        Whether it failed because it did not end in time.
    prints_usage
        Whether it only printed its usage.
    own_bytes
        Digest of the files of the build that it mapped or read; empty if that is unknown.
    own_faults
        Faults in files of the build: how much of the project's code it executes, in pages.
    is_foreign
        Whether it executes nothing that the project builds, such as a script for another program.
    """

    run: RunProposal
    faults: tuple[int, ...]
    problem: str = ""
    timed_out: bool = False
    seconds: float = 0.0
    prints_usage: bool = False
    own_bytes: str = ""
    own_faults: int = 0
    is_foreign: bool = False

    @property
    def did_work(self) -> bool:
        """Whether the command seems to have done some work of the project."""
        return (
            bool(self.faults) and not self.prints_usage and not self.run.only_describes_itself and not self.is_foreign
        )
