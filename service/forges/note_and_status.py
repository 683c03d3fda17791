"""The single comment of a pull request, the status of its head and replies to commands, on forges without an App.

The comment is found by its id, or by its marker and author. On GitLab and Forgejo, the author is the user whose token
the service has.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from service.forges import comment_text
from service.forges.comment_commands import HELP, Command, Verb
from service.forges.forge import Handlers, Publication
from service.forges.gate_verdict_text import describe_gate_verdict
from service.text.markdown import break_quick_actions, format_code, make_text_plain

CONTEXT = "Faultwatch"
"""The name of the commit status."""
MAX_DESCRIPTION_CHARACTERS = 140
"""The largest length of a status description that both forges show in full."""
_MAX_REASON_CHARACTERS = 500
_GITHUB_ONLY_REPLY = "This command works only on GitHub. Run the job again in your CI system, or use the dashboard."


@dataclass(frozen=True, slots=True)
class Note:
    """A comment on a pull request."""

    id: int
    author: int
    """Id of the user who wrote it."""
    body: str


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a commit."""

    passed: bool
    description: str
    address: str
    """The address of its details; empty if there are none."""


def build_body(publication: Publication, name: str, max_bytes: int) -> str:
    """Return the text of the comment, with its marker.

    Parameters
    ----------
    name
        The name of the repository, with its forge.
    max_bytes
        The largest size of the text, in bytes.
    """
    links = replace(publication.links, offers_bisect=False)
    marker = comment_text.build_marker(name, publication.number)

    def build_text(limit: int) -> str:
        return comment_text.build_comment(publication.outcome, links, marker, limit)

    text = build_text(max_bytes)
    # Breaking quick actions makes the text longer. None of them is in the table, which is the part that is cut.
    n_added_bytes = len(break_quick_actions(text)) - len(text)
    if n_added_bytes:
        text = build_text(max_bytes - n_added_bytes)
    return break_quick_actions(text)


def find_posted_note(notes: Iterable[Note], marker: str, author: int) -> Note | None:
    """Return the first comment with a marker that the service wrote; None if there is none.

    Anybody can copy the marker, so the author is checked too.
    """
    return next((note for note in notes if note.author == author and marker in note.body), None)


def build_status(publication: Publication) -> Status:
    """Return the status of the head: the sentence of the verdict, and whether the gate passes."""
    description = make_text_plain(
        describe_gate_verdict(publication.outcome, make_text_plain), MAX_DESCRIPTION_CHARACTERS
    )
    return Status(publication.outcome.passed, description, publication.links.compare or publication.links.log)


def build_reply_marker(comment_id: int) -> str:
    """Return the invisible marker of the reply to a comment."""
    return f"<!-- faultwatch reply {comment_id} -->"


def run_commands_and_reply(commands: Iterable[Command], head: str, handlers: Handlers) -> str:
    """Run commands whose author has been checked, and return the reply."""
    return "\n\n".join(_run_command(command, head, handlers) for command in commands)


def _run_command(command: Command, head: str, handlers: Handlers) -> str:
    """Run one command of a note; return the reply."""
    if command.verb is Verb.HELP or command.problem:
        return f"{command.problem}\n\n{HELP}".strip()
    if command.verb is not Verb.ACCEPT:
        return _GITHUB_ONLY_REPLY
    if handlers.accept(head, command.text):
        return f"Accepted for {head[:10]}: {format_code(command.text, _MAX_REASON_CHARACTERS)}"
    return f"The head is now {head[:10]}, which has not been measured yet. Accept this head once it has been measured."
