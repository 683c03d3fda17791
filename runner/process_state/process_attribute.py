"""The protocol of process attributes."""

from typing import Protocol


class Attribute(Protocol):
    """An attribute of this process that child processes inherit."""

    @property
    def setting(self) -> str:
        """The name of the attribute's setting in the environment."""

    @property
    def target(self) -> str:
        """The value that :meth:`read_value` returns once the attribute is applied."""

    @property
    def remedy(self) -> str:
        """How to allow the attribute on a host that forbids it."""

    def read_value(self) -> str:
        """Return the current value, read from the kernel."""

    def apply(self) -> None:
        """Set the attribute.

        Raises
        ------
        OSError
            This host forbids it. Nothing has changed then.
        """

    def undo(self) -> None:
        """Restore the value from before :meth:`apply`."""


def can_apply(attribute: Attribute) -> bool:
    """Return whether this host allows an attribute, by applying and undoing it."""
    try:
        attribute.apply()
    except OSError:
        return False
    try:
        return attribute.read_value() == attribute.target
    finally:
        attribute.undo()
