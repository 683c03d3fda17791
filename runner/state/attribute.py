"""What an attribute of a process is to the runner: shown, applied, undone."""

from typing import Protocol


class Attribute(Protocol):
    """One attribute of this process that those it starts inherit."""

    @property
    def knob(self) -> str:
        """Its name among the knobs of the environment."""

    @property
    def wanted(self) -> str:
        """What :meth:`show` says where it is as it should be."""

    @property
    def remedy(self) -> str:
        """What lets it be applied on a host that forbids it."""

    def show(self) -> str:
        """Return how it is now: read from the kernel, never remembered."""

    def apply(self) -> None:
        """Make it as it should be.

        Raises
        ------
        OSError
            Where this host forbids it; then nothing has changed.
        """

    def undo(self) -> None:
        """Make it as it was before :meth:`apply`."""


def can_apply(attribute: Attribute) -> bool:
    """Whether this host allows it: tried out, and taken back."""
    try:
        attribute.apply()
    except OSError:
        return False
    try:
        return attribute.show() == attribute.wanted
    finally:
        attribute.undo()
