"""A forge on which the service acts as a user: it writes notes on pull requests, and sets statuses of commits.

Each such forge adds a client, which calls its API, and handlers of its webhook events.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from runner.contract.gate import ForgeKind
from service.config.forge_settings import TokenForge
from service.forges import comment_text, note_and_status
from service.forges.forge import Delivery, Handlers, Header, Publication, Refusal
from service.forges.note_and_status import Note, Status
from service.forges.qualified_names import qualify_name, split_name
from service.forges.webhook_actions import (
    LABEL_REASON,
    AcceptHead,
    CommandComment,
    EventHandlers,
    RepositoryAction,
    WebhookAction,
    decide_actions,
)
from service.text.markdown import break_quick_actions

_GONE_STATUSES = frozenset({404, 410})
"""Statuses of a note or a commit that no longer exists."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request on a forge."""

    repository: str
    """Its name on the forge."""
    number: int


class NoteClient(Protocol):
    """The calls of a forge's API. Each raises exceptions that :meth:`find_refusal` explains."""

    @property
    def user_id(self) -> int:
        """Id of the user whose token the service has."""

    def find_head_commit(self, pull: PullRequest) -> str:
        """Return the current head commit of a pull request."""

    def list_notes(self, pull: PullRequest) -> Iterator[Note]:
        """Return the notes that users wrote, the oldest first."""

    def find_note(self, pull: PullRequest, note_id: int) -> Note:
        """Return one note."""

    def create_note(self, pull: PullRequest, body: str) -> int:
        """Write a note; return its id."""

    def update_note(self, pull: PullRequest, note_id: int, body: str) -> None:
        """Change the text of a note."""

    def find_newest_status(self, repository: str, commit: str) -> tuple[bool, str] | None:
        """Return whether the service's newest status passed, and its description; None if there is none."""

    def create_status(self, repository: str, commit: str, status: Status) -> None:
        """Set the status of a commit."""

    def may_write(self, repository: str, user: str) -> bool:
        """Return whether a user may push to the repository."""

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed; None for an exception that does not come from a call."""


@dataclass(frozen=True, slots=True)
class NoteForge(ABC):
    """A forge, called as the user whose token the service has."""

    client: NoteClient
    settings: TokenForge

    kind: ClassVar[ForgeKind]
    events: ClassVar[EventHandlers]
    """The handlers of its webhooks, by the name of the event."""
    max_note_bytes: ClassVar[int]

    @abstractmethod
    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery in a request to the webhook; None if the forge did not send the request."""

    @property
    def address(self) -> str:
        """The public address of this service."""
        return self.settings.address

    def list_actions(self, event: str, payload: Mapping[str, Any]) -> tuple[WebhookAction, ...]:
        """Return the actions for a webhook."""
        return decide_actions(self.events, event, payload)

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed; None for an exception that does not come from a call."""
        return self.client.find_refusal(error)

    def publish(self, publication: Publication) -> int | None:
        """Set the status of a head and, unless the pull request has a newer head, create or edit its note.

        Returns
        -------
        int | None
            The note's id; None if there is no note.
        """
        pull, head = PullRequest(publication.repository, publication.number), publication.outcome.head
        note_id = publication.comment_id
        if self.client.find_head_commit(pull) == head:
            note_id = self._publish_note(pull, publication)
        self._set_status(pull.repository, head, note_and_status.build_status(publication))
        return note_id

    def run_action(self, action: RepositoryAction, handlers: Handlers) -> None:
        """Answer the commands of a note, or record an acceptance by label, if the user may push.

        Other actions are ignored.
        """
        if not isinstance(action, CommandComment | AcceptHead):
            return
        _forge, repository = split_name(action.repository)
        pull = PullRequest(repository, action.number)
        if not self.client.may_write(pull.repository, action.author):
            return
        if isinstance(action, AcceptHead):  # No reply is needed: the note about the gate says who accepted it.
            handlers.accept(action.head, LABEL_REASON)
            return
        marker = note_and_status.build_reply_marker(action.comment_id)
        if note_and_status.find_posted_note(self.client.list_notes(pull), marker, self.client.user_id) is None:
            reply = note_and_status.run_commands_and_reply(
                action.commands, self.client.find_head_commit(pull), handlers
            )
            self.client.create_note(pull, break_quick_actions(f"{reply}\n\n{marker}"))

    def _publish_note(self, pull: PullRequest, publication: Publication) -> int:
        """Create or update the note of a pull request; return its id."""
        name = qualify_name(self.kind, pull.repository)
        body = note_and_status.build_body(publication, name, self.max_note_bytes)
        note = self._find_posted_note(pull, publication.comment_id, comment_text.build_marker(name, pull.number))
        if note is not None and note.body != body:
            try:
                self.client.update_note(pull, note.id, body)
            except Exception as error:
                if not self._is_deleted(error):
                    raise
                note = None  # It was deleted between the two calls.
        return note.id if note is not None else self.client.create_note(pull, body)

    def _find_posted_note(self, pull: PullRequest, note_id: int | None, marker: str) -> Note | None:
        """Return the note that the service has written; None if there is none, or it was deleted."""
        if note_id is not None:
            try:
                return self.client.find_note(pull, note_id)
            except Exception as error:
                if not self._is_deleted(error):
                    raise
        return note_and_status.find_posted_note(self.client.list_notes(pull), marker, self.client.user_id)

    def _set_status(self, repository: str, head: str, status: Status) -> None:
        """Set the status of a commit, unless it already has this status."""
        try:
            if self.client.find_newest_status(repository, head) != (status.passed, status.description):
                self.client.create_status(repository, head, status)
        except Exception as error:
            if not self._is_deleted(error):  # A commit that a force-push removed cannot get a status.
                raise

    def _is_deleted(self, error: Exception) -> bool:
        """Return whether a call failed because the note or the commit no longer exists."""
        refusal = self.client.find_refusal(error)
        return refusal is not None and refusal.status in _GONE_STATUSES
