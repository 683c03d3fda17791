"""GitLab as a forge. GitLab's documents "Notes API", "Commits API" and "Webhook events" describe what is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitlab.exceptions import GitlabError
from gitlab.v4.objects import Project, ProjectMergeRequest

from service.config.forge_settings import TokenForge
from service.forges import comment_text, notes
from service.forges.actions import LABEL_REASON, AcceptHead, CommandComment, RepositoryAction, WebhookAction
from service.forges.forge import Delivery, Handlers, Header, Publication, Refusal
from service.forges.gitlab import webhook_events
from service.forges.gitlab.client import Client
from service.forges.names import split
from service.forges.notes import Note, Status
from service.forges.signature import is_equal

_MOST_BYTES = 900_000
"""GitLab takes a million characters in a note."""
_DEVELOPER = 30
"""The access level that may push to branches: who has it may accept a change."""
_GONE = frozenset({404, 410})
_ID = re.compile(r"[A-Za-z0-9-]{1,50}")


@dataclass(frozen=True, slots=True)
class GitlabForge:
    """GitLab, as the user whose token the service has."""

    client: Client
    settings: TokenForge

    @classmethod
    def at(cls, settings: TokenForge) -> GitlabForge:
        """Return the GitLab of some settings; nothing is called yet."""
        return cls(Client(settings), settings)

    @property
    def address(self) -> str:
        """Where people reach this service."""
        return self.settings.address

    def publish(self, publication: Publication) -> int | None:
        """Write or edit the note of a merge request, and set the status of the head; return the note's id."""
        project = self._project(publication.repository)
        request = project.mergerequests.get(publication.number)
        note_id = publication.comment_id
        if request.sha == publication.outcome.head:
            note_id = self._publish_note(request, publication)
        self._set_status(project, publication.outcome.head, notes.status_of(publication))
        return note_id

    def delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery, if it has the secret (GitLab, "Webhooks", section "Validate payloads by secret token").

        GitLab signs no body with it: the secret itself is sent. The idempotency key stays the same in repeated
        deliveries; versions before it have the number of the event alone.
        """
        if not is_equal(self.settings.secret, header("X-Gitlab-Token")):
            return None
        event = header("X-Gitlab-Event")
        number = header("Idempotency-Key") or header("X-Gitlab-Event-UUID")
        return Delivery(number if _ID.fullmatch(number) else "", event, event in webhook_events.EVENTS)

    def actions(self, event: str, payload: Mapping[str, Any]) -> tuple[WebhookAction, ...]:
        """Return the actions for a webhook."""
        return webhook_events.actions_for(event, payload)

    def do(self, action: RepositoryAction, handlers: Handlers) -> None:
        """Answer the commands of a note, or take an acceptance, of somebody who may push."""
        if not isinstance(action, CommandComment | AcceptHead):
            return
        project = self._project(split(action.repository)[1])
        if not self._may_push(project, action.author):
            return
        if isinstance(action, AcceptHead):  # the note about the gate says who accepted it
            handlers.accept(action.head, LABEL_REASON)
            return
        request = project.mergerequests.get(action.number)
        marker = notes.reply_marker(action.comment_id)
        if notes.posted(_notes(request), marker, self._user_id()) is None:
            reply = notes.reply(action.commands, request.sha, handlers)
            request.notes.create({"body": notes.without_quick_actions(f"{reply}\n\n{marker}")})

    def refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed."""
        return self.client.refusal(error)

    def _project(self, name: str) -> Project:
        return self.client.projects.get(name, lazy=True)

    def _user_id(self) -> int:
        if self.client.user is None:
            self.client.auth()
        assert self.client.user is not None
        return int(self.client.user.id)

    def _publish_note(self, request: ProjectMergeRequest, publication: Publication) -> int:
        name = f"gitlab:{publication.repository}"
        body = notes.body_of(publication, name, _MOST_BYTES)
        marker = comment_text.marker(name, publication.number)
        known = _note(request, publication.comment_id) or notes.posted(_notes(request), marker, self._user_id())
        if known is not None and known.body != body:
            try:
                request.notes.update(known.id, {"body": body})
            except GitlabError as error:
                if error.response_code not in _GONE:
                    raise
                known = None  # deleted between the two calls
        return known.id if known is not None else int(request.notes.create({"body": body}).id)

    def _set_status(self, project: Project, head: str, status: Status) -> None:
        """Set the status of a commit, unless it is so: GitLab refuses a transition from a state to itself."""
        state = "success" if status.passed else "failed"
        commit = project.commits.get(head, lazy=True)
        posted = commit.statuses.list(iterator=True, name=notes.CONTEXT, order_by="id", sort="desc")
        newest = next(iter(posted), None)
        if newest is not None and (newest.status, newest.description) == (state, status.description):
            return
        content = {"state": state, "name": notes.CONTEXT, "description": status.description}
        try:
            commit.statuses.create({**content, **({"target_url": status.address} if status.address else {})})
        except GitlabError as error:
            # A commit that a force-push removed can have no status any more; the other message means it has this one.
            message = str(error.error_message).lower()
            if error.response_code not in _GONE and "cannot transition" not in message:
                raise

    def _may_push(self, project: Project, author: str) -> bool:
        for user in self.client.users.list(username=author, iterator=True):
            try:
                return int(project.members_all.get(user.id).access_level) >= _DEVELOPER
            except GitlabError as error:
                if error.response_code != 404:
                    raise
        return False


def _notes(request: ProjectMergeRequest) -> Iterator[Note]:
    for note in request.notes.list(iterator=True, order_by="created_at", sort="asc"):
        if not note.system:
            yield Note(note.id, note.author["id"], note.body)


def _note(request: ProjectMergeRequest, note_id: int | None) -> Note | None:
    """Return the note with an id; None where it was deleted, or none is known."""
    if note_id is None:
        return None
    try:
        note = request.notes.get(note_id)
    except GitlabError as error:
        if error.response_code in _GONE:
            return None
        raise
    return Note(note.id, note.author["id"], note.body)
