"""Says that the host, not the program, is the reason why a session has no result."""

from runner.contract.report import Environment
from runner.environment.capture import find_differences
from runner.errors import FaultwatchError

_MAX_SETTINGS = 5
"""The largest number of settings that a message names."""


class SpoiledSession(FaultwatchError):
    """The state of the host spoils a session. Another attempt can succeed."""


def require_unchanged(before: Environment, after: Environment) -> None:
    """Refuse a session during which the environment changed, because the environment of each sample is unknown.

    Raises
    ------
    SpoiledSession
        It changed; the message names the settings.
    """
    changes = find_differences(before, after)
    if changes:
        named_changes = "; ".join(
            f"{name}: {old_value or 'not set'} → {new_value or 'not set'}"
            for name, old_value, new_value in changes[:_MAX_SETTINGS]
        )
        remainder = f"; and {len(changes) - _MAX_SETTINGS} more" if len(changes) > _MAX_SETTINGS else ""
        raise SpoiledSession(
            f"the environment changed during the session: {named_changes}{remainder}", "measure the case again"
        )
