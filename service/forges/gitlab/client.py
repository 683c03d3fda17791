"""Calls the API of GitLab, and explains failed calls.

The calls are documented in "Notes API" and "Commits API" of GitLab.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import gitlab
import requests
from gitlab.exceptions import GitlabError
from gitlab.v4.objects import Project, ProjectCommitStatusManager, ProjectMergeRequestNoteManager

from service.config.forge_settings import TokenForge
from service.forges.forge import Refusal
from service.forges.note_and_status import CONTEXT, Note, Status
from service.forges.note_forge import PullRequest

_TIMEOUT_SECONDS = 10
_DEVELOPER_ACCESS_LEVEL = 30
"""The access level that allows pushing to branches, which a user needs to accept a change."""
_PASSED_OF_STATE = {"success": True, "failed": False}


class _Session(requests.Session):
    """Keeps the headers of the last answer, which say how long to wait: python-gitlab's errors do not contain them."""

    last_headers: dict[str, str]

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request, and remember the headers of the answer."""
        self.last_headers = {}
        response = super().request(*arguments, **options)
        self.last_headers = {name.lower(): value for name, value in response.headers.items()}
        return response


class _Api(gitlab.Gitlab):
    """GitLab's API without python-gitlab's automatic waits: the worker decides when to call again."""

    def http_request(self, *arguments: Any, **options: Any) -> requests.Response:
        """Send a request; raise an error at a rate limit instead of waiting."""
        return super().http_request(*arguments, **{**options, "obey_rate_limit": False})


class Client:
    """The calls of GitLab's API, as the user whose token the service has."""

    def __init__(self, settings: TokenForge) -> None:
        self._session = _Session()
        self._api = _Api(
            settings.url, private_token=settings.token, timeout=_TIMEOUT_SECONDS, per_page=100, session=self._session
        )

    @cached_property
    def user_id(self) -> int:
        """Id of the user whose token the service has."""
        self._api.auth()
        assert self._api.user is not None
        return int(self._api.user.id)

    def find_head_commit(self, pull: PullRequest) -> str:
        """Return the current head commit of a merge request."""
        return str(self._get_project(pull.repository).mergerequests.get(pull.number).sha)

    def list_notes(self, pull: PullRequest) -> Iterator[Note]:
        """Yield the notes that users wrote, the oldest first."""
        for note in self._fetch_notes(pull).list(iterator=True, order_by="created_at", sort="asc"):
            if not note.system:
                yield Note(note.id, note.author["id"], note.body)

    def find_note(self, pull: PullRequest, note_id: int) -> Note:
        """Return one note."""
        note = self._fetch_notes(pull).get(note_id)
        return Note(note.id, note.author["id"], note.body)

    def create_note(self, pull: PullRequest, body: str) -> int:
        """Write a note; return its id."""
        return int(self._fetch_notes(pull).create({"body": body}).id)

    def update_note(self, pull: PullRequest, note_id: int, body: str) -> None:
        """Change the text of a note."""
        self._fetch_notes(pull).update(note_id, {"body": body})

    def find_newest_status(self, repository: str, commit: str) -> tuple[bool, str] | None:
        """Return whether the service's newest status passed, and its description; None if there is none."""
        statuses = self._get_statuses(repository, commit)
        newest_status = next(iter(statuses.list(iterator=True, name=CONTEXT, order_by="id", sort="desc")), None)
        if newest_status is None or newest_status.status not in _PASSED_OF_STATE:
            return None
        return _PASSED_OF_STATE[newest_status.status], newest_status.description

    def create_status(self, repository: str, commit: str, status: Status) -> None:
        """Set the status of a commit. GitLab refuses a transition from a state to the same state."""
        content = {
            "state": "success" if status.passed else "failed",
            "name": CONTEXT,
            "description": status.description,
        }
        if status.address:
            content["target_url"] = status.address
        try:
            self._get_statuses(repository, commit).create(content)
        except GitlabError as error:
            if "cannot transition" not in str(error.error_message).lower():
                raise

    def may_write(self, repository: str, user: str) -> bool:
        """Return whether a user may push to branches."""
        for account in self._api.users.list(username=user, iterator=True):
            try:
                member = self._get_project(repository).members_all.get(account.id)
                return int(member.access_level) >= _DEVELOPER_ACCESS_LEVEL
            except GitlabError as error:
                if error.response_code != 404:  # 404: the user exists, but is not a member of the project.
                    raise
        return False

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why the last call failed; None for an exception that does not come from a call."""
        if isinstance(error, GitlabError):
            return Refusal(error.response_code, str(error.error_message or error), dict(self._session.last_headers))
        return Refusal(None, str(error)) if isinstance(error, requests.RequestException) else None

    def _get_project(self, name: str) -> Project:
        return self._api.projects.get(name, lazy=True)

    def _fetch_notes(self, pull: PullRequest) -> ProjectMergeRequestNoteManager:
        return self._get_project(pull.repository).mergerequests.get(pull.number, lazy=True).notes

    def _get_statuses(self, repository: str, commit: str) -> ProjectCommitStatusManager:
        return self._get_project(repository).commits.get(commit, lazy=True).statuses
