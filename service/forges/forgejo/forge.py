"""Forgejo (or Gitea) as a forge."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runner.contract.gate import ForgeKind
from service.config.forge_settings import TokenForge
from service.forges.forge import Delivery, Header
from service.forges.forgejo import webhook_events
from service.forges.forgejo.client import Client
from service.forges.note_forge import NoteForge
from service.forges.webhook_authentication import is_signed

_DELIVERY_ID = re.compile(r"[A-Za-z0-9-]{1,50}")


@dataclass(frozen=True, slots=True)
class ForgejoForge(NoteForge):
    """Forgejo, called as the user whose token the service has."""

    kind = ForgeKind.FORGEJO
    events = webhook_events.EVENTS
    max_note_bytes = 65_535
    """The size of the smallest text column among the databases that Forgejo supports."""

    @classmethod
    def from_settings(cls, settings: TokenForge) -> ForgejoForge:
        """Return the Forgejo that some settings name, without calling it."""
        return cls(Client(settings), settings)

    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery; None if its signature is not valid (Forgejo, "Webhooks": HMAC-SHA256, hexadecimal).

        Forgejo sends both its own headers and Gitea's; Gitea sends only Gitea's.
        """

        def find_header(name: str) -> str:
            return header(f"X-Forgejo-{name}") or header(f"X-Gitea-{name}")

        signature, number, event = find_header("Signature"), find_header("Delivery"), find_header("Event")
        if not is_signed(self.settings.secret, body, signature, prefix=""):
            return None
        return Delivery(number if _DELIVERY_ID.fullmatch(number) else "", event, event in self.events)
