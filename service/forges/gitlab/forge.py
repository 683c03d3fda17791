"""GitLab as a forge. GitLab's document "Webhook events" describes what it sends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.contract.gate import ForgeKind
from service.config.forge_settings import TokenForge
from service.forges.forge import Delivery, Header
from service.forges.gitlab import webhook_events
from service.forges.gitlab.client import Client
from service.forges.note_forge import NoteForge
from service.forges.signature import is_equal

_DELIVERY_ID = re.compile(r"[A-Za-z0-9-]{1,50}")


@dataclass(frozen=True, slots=True)
class GitlabForge(NoteForge):
    """GitLab, as the user whose token the service has."""

    kind = ForgeKind.GITLAB
    events = webhook_events.EVENTS
    max_note_bytes = 900_000
    """GitLab takes a million characters."""

    @classmethod
    def from_settings(cls, settings: TokenForge) -> GitlabForge:
        """Return the GitLab of some settings; nothing is called yet."""
        return cls(Client(settings), settings)

    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery, if it has the secret (GitLab, "Webhooks", section "Validate payloads by secret token").

        GitLab signs no body with it: the secret itself is sent. The idempotency key stays the same in repeated
        deliveries; versions before it have the number of the event alone.
        """
        if not is_equal(self.settings.secret, header("X-Gitlab-Token")):
            return None
        event = header("X-Gitlab-Event")
        number = header("Idempotency-Key") or header("X-Gitlab-Event-UUID")
        return Delivery(number if _DELIVERY_ID.fullmatch(number) else "", event, event in self.events)
