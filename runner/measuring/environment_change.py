"""The errors of a session whose result is invalidated by the host, not by the program."""

from runner.contract.report import Environment
from runner.environment.capture import find_differences
from runner.errors import FaultwatchError

_MAX_SETTINGS = 5
"""The largest number of settings that a message names."""


class InvalidSession(FaultwatchError):
    """The state of the host makes the session invalid. Another attempt can succeed."""


def require_unchanged_environment(before: Environment, after: Environment) -> None:
    """Check that the environment did not change during a session; otherwise that of each sample would be unknown.

    Raises
    ------
    InvalidSession
        The environment changed; the message names the settings.
    """
    changes = find_differences(before, after)
    if changes:
        named_changes = "; ".join(
            f"{name}: {old_value or 'not set'} → {new_value or 'not set'}"
            for name, old_value, new_value in changes[:_MAX_SETTINGS]
        )
        remainder = f"; and {len(changes) - _MAX_SETTINGS} more" if len(changes) > _MAX_SETTINGS else ""
        raise InvalidSession(
            f"the environment changed during the session: {named_changes}{remainder}", "measure the case again"
        )
