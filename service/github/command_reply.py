"""Does what a command asks for, and answers: a reaction, and a reply where there is something to say. Each once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from github import GithubException
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository

from service.config.github_app import GithubSettings
from service.github.commands import HELP, Command, Verb
from service.github.react import Said
from service.text.markdown import code

_WRITERS = frozenset({"admin", "maintain", "write"})
MEASURE = "measure.yml"
Accepting = Callable[[str, str], bool]
"""Takes the head and the reason; False where nothing is known of that head."""
Ordering = Callable[[Command, str], tuple[bool, str]]
"""Takes a command that needs a host, and the head; returns whether it was ordered, and what to reply."""


@dataclass(frozen=True, slots=True)
class Doing:
    """What commands set going."""

    accept: Accepting
    order: Ordering
    workflow: str


def commands(repository: Repository, said: Said, doing: Doing) -> None:
    """Do the commands of a comment, if its author may write to the repository."""
    pull = repository.get_pull(said.number)
    original = pull.get_issue_comment(said.comment_id)
    if not _may_write(repository, said.by):
        _react(original, "-1")
        return
    mark = f"<!-- faultwatch reply {said.comment_id} -->"
    if any(mark in (one.body or "") and one.user.type == "Bot" for one in pull.get_issue_comments()):
        return  # an earlier attempt got this far, and the reply is the last that is done
    replies = [_done(repository, pull, command, doing) for command in said.commands]
    failed = any(not done for done, _ in replies)
    _react(original, "confused" if failed else "+1")
    pull.create_issue_comment("\n\n".join((*(reply for _, reply in replies), mark)))


def _done(repository: Repository, pull: PullRequest, command: Command, doing: Doing) -> tuple[bool, str]:
    """Do one command; return whether it was done, and what to reply."""
    if command.verb is Verb.HELP or command.problem:
        return not command.problem, f"{command.problem}\n\n{HELP}".strip()
    head = pull.head.sha
    if command.verb is Verb.ACCEPT:
        accepted = f"Accepted for {head[:10]}: {code(command.text, 500)}"
        # A head that was pushed after somebody wrote this is not what they accepted.
        unknown = f"The head is {head[:10]} now, of which nothing is known yet: accept it once it is measured."
        return (True, accepted) if doing.accept(head, command.text) else (False, unknown)
    if pull.state != "open":
        return False, "The pull request is closed: nothing is measured of it any more."
    if command.verb is Verb.RERUN:
        problem = dispatch(repository, doing.workflow, {"base": pull.base.sha, "head": head})
        return not problem, problem or f"{head[:10]} is measured again."
    if not command.text:
        return False, f"Name the case: `/faultwatch {command.verb} CASE`."
    return doing.order(command, head)


def measure(repository: Repository, number: int | None, head: str, settings: GithubSettings) -> None:
    """Have the head of a pull request measured, if it still is one's head."""
    named = None if number is None else [repository.get_pull(number)]
    for pull in named or repository.get_commit(head).get_pulls():
        if pull.state == "open" and pull.head.sha == head:
            dispatch(repository, settings.workflow, {"base": pull.base.sha, "head": head})
            return


def dispatch(repository: Repository, workflow: str, inputs: dict[str, str]) -> str:
    """Start a workflow of the repository's default branch; return why not, if GitHub does not take it."""
    try:
        repository.get_workflow(workflow).create_dispatch(repository.default_branch, inputs, throw=True)
    except GithubException as error:
        if error.status not in {404, 422}:
            raise
        return f"This repository has no workflow {code(workflow)} that can be started with what this needs."
    return ""


def _react(original: IssueComment, content: str) -> None:
    """React to a comment, if it is still there."""
    try:
        original.create_reaction(content)
    except GithubException as error:
        if error.status not in {404, 410}:
            raise


def _may_write(repository: Repository, login: str) -> bool:
    try:
        return repository.get_collaborator_permission(login) in _WRITERS
    except GithubException as error:
        if error.status == 404:
            return False
        raise
