"""GitLab as a forge. Its webhooks are documented in "Webhook events" of GitLab."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.contract.gate import ForgeKind
from service.config.forge_settings import TokenForge
from service.forges.forge import Delivery, Header
from service.forges.gitlab import webhook_events
from service.forges.gitlab.client import Client
from service.forges.note_forge import NoteForge
from service.forges.webhook_authentication import is_secret

_DELIVERY_ID = re.compile(r"[A-Za-z0-9-]{1,50}")


@dataclass(frozen=True, slots=True)
class GitlabForge(NoteForge):
    """GitLab, called as the user whose token the service has."""

    kind = ForgeKind.GITLAB
    events = webhook_events.EVENTS
    max_note_bytes = 900_000
    """GitLab accepts a million characters."""

    @classmethod
    def from_settings(cls, settings: TokenForge) -> GitlabForge:
        """Return the GitLab that some settings name, without calling it."""
        return cls(Client(settings), settings)

    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery; None if it lacks the secret (GitLab, "Webhooks", "Validate payloads by secret token").

        GitLab does not sign the body, but sends the secret itself. The idempotency key stays the same in repeated
        deliveries; older versions of GitLab send only the UUID of the event.
        """
        if not is_secret(self.settings.secret, header("X-Gitlab-Token")):
            return None
        event = header("X-Gitlab-Event")
        number = header("Idempotency-Key") or header("X-Gitlab-Event-UUID")
        return Delivery(number if _DELIVERY_ID.fullmatch(number) else "", event, event in self.events)
