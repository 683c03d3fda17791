"""GitHub as a forge: the App, with its comments, check runs and workflows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from github.Repository import Repository

from service.forges.forge import Delivery, Handlers, Header, Publication, Refusal
from service.forges.github import client, webhook_events, workflows
from service.forges.github.answer_comment_commands import refuse_commands, run_commands
from service.forges.github.publish_outcome import publish
from service.forges.github.settings import GithubSettings
from service.forges.github.write_access import may_act
from service.forges.webhook_actions import (
    LABEL_REASON,
    AcceptHead,
    CommandComment,
    MeasureHead,
    RepositoryAction,
    WebhookAction,
)
from service.forges.webhook_authentication import is_signed

_DELIVERY_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class GithubForge:
    """GitHub, called as the App that is the service's identity there."""

    client: client.Client
    settings: GithubSettings

    @property
    def address(self) -> str:
        """The public address of this service."""
        return self.settings.address

    def publish(self, publication: Publication) -> int | None:
        """Create or update the comment and the check run; return the comment's id, None if there is no comment."""
        app_id = self.client.app_id
        return self.client.call_with_repository(
            publication.repository, lambda repository: publish(repository, publication, app_id)
        )

    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery; None if its signature is not valid (GitHub Docs, "Validating webhook deliveries")."""
        if not is_signed(self.settings.secret, body, header("X-Hub-Signature-256"), "sha256="):
            return None
        event, number = header("X-GitHub-Event"), header("X-GitHub-Delivery")
        return Delivery(number if _DELIVERY_ID.fullmatch(number) else "", event, event in webhook_events.EVENTS)

    def list_actions(self, event: str, payload: Mapping[str, Any]) -> tuple[WebhookAction, ...]:
        """Return the actions for a webhook."""
        return webhook_events.list_actions(event, payload)

    def run_action(self, action: RepositoryAction, handlers: Handlers) -> None:
        """Run the commands of a comment, accept a head by label, or start a workflow, if the user has write access."""

        def run_if_allowed(repository: Repository) -> None:
            """Carry out the action; ignore it if the user has no write access."""
            if not may_act(repository, action):
                if isinstance(action, CommandComment):
                    refuse_commands(repository, action)
            elif isinstance(action, CommandComment):
                run_commands(repository, action, handlers, self.settings.workflow)
            elif isinstance(action, AcceptHead):
                handlers.accept(action.head, LABEL_REASON)
            elif isinstance(action, MeasureHead):
                workflows.measure_head(repository, action.number, action.head, self.settings)
            else:
                workflows.measure_push(repository, action.head, self.settings.address)

        self.client.call_with_repository(action.repository, run_if_allowed)

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed; None for an exception that does not come from a call."""
        return client.find_refusal(error)
