"""Says that the host, not the program, is the reason why a session has no result."""

from runner.contract.report import Environment
from runner.environment.capture import find_differences
from runner.errors import FaultwatchError

_MAX_SETTINGS = 5
"""Most settings that a message names."""


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
        listed = "; ".join(
            f"{name}: {old or 'not set'} → {new or 'not set'}" for name, old, new in changes[:_MAX_SETTINGS]
        )
        more = f"; and {len(changes) - _MAX_SETTINGS} more" if len(changes) > _MAX_SETTINGS else ""
        raise SpoiledSession(f"the environment changed during the session: {listed}{more}", "measure the case again")
