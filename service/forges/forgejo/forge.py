"""Forgejo (or Gitea) as a forge."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from service.config.forge_settings import TokenForge
from service.forges import comment_text, notes
from service.forges.actions import CommandComment, RepositoryAction, WebhookAction
from service.forges.forge import Delivery, Handlers, Header, Publication, Refusal
from service.forges.forgejo import client, webhook_events
from service.forges.forgejo.client import Client, ForgejoError
from service.forges.names import split
from service.forges.notes import Note, Status
from service.forges.signature import is_signed

_MOST_BYTES = 65_535
"""What the smallest text column of its databases takes."""
_WRITERS = frozenset({"owner", "admin", "write"})
_GONE = frozenset({404, 410})
_ID = re.compile(r"[A-Za-z0-9-]{1,50}")


@dataclass(frozen=True, slots=True)
class ForgejoForge:
    """Forgejo, as the user whose token the service has."""

    client: Client
    settings: TokenForge
    _known: dict[str, int] = field(default_factory=dict)
    """The id of that user, once it is known."""

    @classmethod
    def at(cls, settings: TokenForge) -> ForgejoForge:
        """Return the Forgejo of some settings; nothing is called yet."""
        return cls(Client(settings), settings)

    @property
    def address(self) -> str:
        """Where people reach this service."""
        return self.settings.address

    def publish(self, publication: Publication) -> int | None:
        """Write or edit the comment of a pull request, and set the status of the head; return the comment's id."""
        repository = _path(publication.repository)
        pull = self.client.call("GET", f"{repository}/pulls/{publication.number}")
        comment_id = publication.comment_id
        if pull["head"]["sha"] == publication.outcome.head:
            comment_id = self._publish_comment(repository, publication)
        self._set_status(repository, publication.outcome.head, notes.status_of(publication))
        return comment_id

    def delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery, if its body is signed (Forgejo, "Webhooks": HMAC-SHA256 in hexadecimal digits).

        Forgejo sends its own headers and Gitea's; Gitea only the latter.
        """
        signature, number, event = (
            header(f"X-Forgejo-{name}") or header(f"X-Gitea-{name}") for name in ("Signature", "Delivery", "Event")
        )
        if not is_signed(self.settings.secret, body, signature, ""):
            return None
        return Delivery(number if _ID.fullmatch(number) else "", event, event in webhook_events.EVENTS)

    def actions(self, event: str, payload: Mapping[str, Any]) -> tuple[WebhookAction, ...]:
        """Return the actions for a webhook."""
        return webhook_events.actions_for(event, payload)

    def do(self, action: RepositoryAction, handlers: Handlers) -> None:
        """Answer the commands of a comment, of somebody who may write to the repository."""
        if not isinstance(action, CommandComment):
            return
        repository = _path(split(action.repository)[1])
        if not self._may_write(repository, action.author):
            return
        comments = f"{repository}/issues/{action.number}/comments"
        marker = notes.reply_marker(action.comment_id)
        if notes.posted(self._comments(comments), marker, self._user_id()) is None:
            head = self.client.call("GET", f"{repository}/pulls/{action.number}")["head"]["sha"]
            reply = notes.reply(action.commands, head, handlers)
            self.client.call("POST", comments, {"body": f"{reply}\n\n{marker}"})

    def refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed."""
        return client.refusal(error)

    def _user_id(self) -> int:
        if "id" not in self._known:
            self._known["id"] = int(self.client.call("GET", "/user")["id"])
        return self._known["id"]

    def _publish_comment(self, repository: str, publication: Publication) -> int:
        name = f"forgejo:{publication.repository}"
        body = notes.body_of(publication, name, _MOST_BYTES)
        marker, comments = comment_text.marker(name, publication.number), f"{repository}/issues/comments"
        of_pull = f"{repository}/issues/{publication.number}/comments"
        known = self._comment(comments, publication.comment_id)
        known = known or notes.posted(self._comments(of_pull), marker, self._user_id())
        if known is not None and known.body != body:
            try:
                self.client.call("PATCH", f"{comments}/{known.id}", {"body": body})
            except ForgejoError as error:
                if error.status not in _GONE:
                    raise
                known = None  # deleted between the two calls
        return known.id if known is not None else int(self.client.call("POST", of_pull, {"body": body})["id"])

    def _comments(self, path: str) -> Iterator[Note]:
        return (_note(comment) for comment in self.client.listed(path))

    def _comment(self, path: str, comment_id: int | None) -> Note | None:
        """Return the comment with an id; None where it was deleted, or none is known."""
        if comment_id is None:
            return None
        try:
            return _note(self.client.call("GET", f"{path}/{comment_id}"))
        except ForgejoError as error:
            if error.status in _GONE:
                return None
            raise

    def _set_status(self, repository: str, head: str, status: Status) -> None:
        """Set the status of a commit, unless it is so already: Forgejo stores each one that it is sent."""
        state = "success" if status.passed else "failure"
        content = {"context": notes.CONTEXT, "state": state, "description": status.description}
        content |= {"target_url": status.address} if status.address else {}
        statuses = f"{repository}/statuses/{head}"
        try:
            ours = (entry for entry in self.client.listed(statuses) if entry["context"] == notes.CONTEXT)
            newest = max(ours, key=lambda entry: int(entry["id"]), default=None)
            if newest is None or (newest["status"], newest["description"]) != (state, status.description):
                self.client.call("POST", statuses, content)
        except ForgejoError as error:
            if error.status not in _GONE:  # a commit that a force-push removed can have no status any more
                raise

    def _may_write(self, repository: str, author: str) -> bool:
        try:
            answer = self.client.call("GET", f"{repository}/collaborators/{quote(author, safe='')}/permission")
        except ForgejoError as error:
            if error.status in _GONE:
                return False
            raise
        return answer["permission"] in _WRITERS


def _path(repository: str) -> str:
    return f"/repos/{quote(repository)}"


def _note(comment: Mapping[str, Any]) -> Note:
    return Note(comment["id"], comment["user"]["id"], comment["body"])
