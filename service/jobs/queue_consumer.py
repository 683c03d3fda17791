"""A Huey consumer within the process of a server."""

from __future__ import annotations

from huey.consumer import Consumer


class QuietConsumer(Consumer):  # type: ignore[misc]
    """Leaves signals to the server whose process it works in."""

    def _set_signal_handlers(self) -> None:
        """Set none."""
