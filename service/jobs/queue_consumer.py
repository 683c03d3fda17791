"""A Huey consumer that runs in a thread of the service."""

from __future__ import annotations

from huey.consumer import Consumer


class QuietConsumer(Consumer):  # type: ignore[misc]
    """Installs no signal handlers: the server has its own."""

    def _set_signal_handlers(self) -> None:
        """Install none."""
