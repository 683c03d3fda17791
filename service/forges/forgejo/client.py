"""Calls the API of Forgejo, which each server describes at ``/swagger.v1.json``; Gitea's API is the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import quote

import requests

from service.config.forge_settings import TokenForge
from service.forges.forge import Refusal
from service.forges.note_and_status import CONTEXT, Note, Status
from service.forges.note_forge import PullRequest

_TIMEOUT_SECONDS = 10
_WRITER_ROLES = frozenset({"owner", "admin", "write"})
_PASSED_OF_STATE = {"success": True, "failure": False}
_ENTRIES_PER_PAGE = 50
"""Entries on a page: the default limit of a server."""
_MAX_ERROR_CHARACTERS = 300


class ForgejoError(Exception):
    """Forgejo refused a call."""

    def __init__(self, response: requests.Response) -> None:
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        super().__init__(_describe_error(response))


class Client:
    """The calls of Forgejo's API, as the user whose token the service has."""

    def __init__(self, settings: TokenForge) -> None:
        self._base = f"{settings.url}/api/v1"
        self._session = requests.Session()
        self._session.trust_env = False  # Otherwise, credentials in ~/.netrc would replace the token.
        self._session.headers.update({"Authorization": f"token {settings.token}", "Accept": "application/json"})

    @cached_property
    def user_id(self) -> int:
        """Id of the user whose token the service has."""
        return int(self._call_api("GET", "/user")["id"])

    def find_head_commit(self, pull: PullRequest) -> str:
        """Return the current head commit of a pull request."""
        return str(self._call_api("GET", f"{_build_path(pull.repository)}/pulls/{pull.number}")["head"]["sha"])

    def list_notes(self, pull: PullRequest) -> Iterator[Note]:
        """Return the comments, the oldest first."""
        return map(_parse_note, self._list_pages(_build_comments_path(pull)))

    def find_note(self, pull: PullRequest, note_id: int) -> Note:
        """Return one comment."""
        return _parse_note(self._call_api("GET", f"{_build_path(pull.repository)}/issues/comments/{note_id}"))

    def create_note(self, pull: PullRequest, body: str) -> int:
        """Write a comment; return its id."""
        return int(self._call_api("POST", _build_comments_path(pull), {"body": body})["id"])

    def update_note(self, pull: PullRequest, note_id: int, body: str) -> None:
        """Change the text of a comment."""
        self._call_api("PATCH", f"{_build_path(pull.repository)}/issues/comments/{note_id}", {"body": body})

    def find_newest_status(self, repository: str, commit: str) -> tuple[bool, str] | None:
        """Return whether the service's newest status passed, and its description; None if there is none.

        Forgejo keeps all statuses of a commit.
        """
        statuses = self._list_pages(_build_statuses_path(repository, commit))
        service_statuses = (status for status in statuses if status["context"] == CONTEXT)
        newest_status = max(service_statuses, key=lambda status: int(status["id"]), default=None)
        if newest_status is None or newest_status["status"] not in _PASSED_OF_STATE:
            return None
        return _PASSED_OF_STATE[newest_status["status"]], newest_status["description"]

    def create_status(self, repository: str, commit: str, status: Status) -> None:
        """Set the status of a commit."""
        content = {
            "context": CONTEXT,
            "state": "success" if status.passed else "failure",
            "description": status.description,
        }
        if status.address:
            content["target_url"] = status.address
        self._call_api("POST", _build_statuses_path(repository, commit), content)

    def may_write(self, repository: str, user: str) -> bool:
        """Return whether a user may write to the repository."""
        try:
            answer = self._call_api("GET", f"{_build_path(repository)}/collaborators/{quote(user, safe='')}/permission")
        except ForgejoError as error:
            if error.status in {404, 410}:  # The user no longer exists, or may not see the repository.
                return False
            raise
        return answer["permission"] in _WRITER_ROLES

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed; None for an exception that does not come from a call."""
        if isinstance(error, ForgejoError):
            return Refusal(error.status, str(error), error.headers)
        return Refusal(None, str(error)) if isinstance(error, requests.RequestException) else None

    def _call_api(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        """Call the API; return the content of the answer.

        Raises
        ------
        ForgejoError
            If the answer is an error.
        requests.RequestException
            If there is no answer.
        """
        return self._send_request(method, f"{self._base}{path}", content).json()

    def _list_pages(self, path: str) -> Iterator[Any]:
        """Yield all entries of a list, page by page: each answer links to the next page."""
        url: str | None = f"{self._base}{path}?limit={_ENTRIES_PER_PAGE}"
        while url:
            response = self._send_request("GET", url, None)
            yield from response.json()
            next_url = response.links.get("next", {}).get("url")
            # The link may contain another address of the server, to which the token must not be sent: only its query
            # is used.
            url = f"{self._base}{path}?{next_url.partition('?')[2]}" if next_url else None

    def _send_request(self, method: str, address: str, content: Mapping[str, Any] | None) -> requests.Response:
        """Send a request to Forgejo; raise ForgejoError if it is refused.

        Redirects count as refusals, because they could send the token to another server.
        """
        response = self._session.request(method, address, json=content, timeout=_TIMEOUT_SECONDS, allow_redirects=False)
        if not 200 <= response.status_code < 300:
            raise ForgejoError(response)
        return response


def _build_path(repository: str) -> str:
    return f"/repos/{quote(repository)}"


def _build_comments_path(pull: PullRequest) -> str:
    return f"{_build_path(pull.repository)}/issues/{pull.number}/comments"


def _build_statuses_path(repository: str, commit: str) -> str:
    return f"{_build_path(repository)}/statuses/{commit}"


def _parse_note(comment: Mapping[str, Any]) -> Note:
    return Note(comment["id"], comment["user"]["id"], comment["body"])


def _describe_error(response: requests.Response) -> str:
    """Return the status and the message of a refused call, in one line."""
    try:
        message = response.json()["message"]
    except (ValueError, KeyError, TypeError):
        message = response.reason
    return f"{response.status_code}: {message}"[:_MAX_ERROR_CHARACTERS]
