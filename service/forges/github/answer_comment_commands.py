"""Runs the commands of a comment, and answers once with a reaction and a reply."""

from __future__ import annotations

from github import GithubException
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository

from service.forges.comment_commands import HELP, Command, Verb
from service.forges.forge import Handlers
from service.forges.github.pull_request_comment import is_locked
from service.forges.github.workflows import dispatch_workflow
from service.forges.webhook_actions import CommandComment
from service.text.markdown import format_code

_MAX_REASON_CHARACTERS = 500


def run_commands(repository: Repository, comment: CommandComment, handlers: Handlers, workflow: str) -> None:
    """Run the commands of a comment whose author has write access."""
    pull = repository.get_pull(comment.number)
    original = pull.get_issue_comment(comment.comment_id)
    marker = f"<!-- faultwatch reply {comment.comment_id} -->"
    if any(marker in (answer.body or "") and answer.user.type == "Bot" for answer in pull.get_issue_comments()):
        return  # An earlier attempt has already replied, which is the last step.
    results = [_run_command(repository, pull, command, handlers, workflow) for command in comment.commands]
    _add_reaction(original, "+1" if all(succeeded for succeeded, _ in results) else "confused")
    try:
        pull.create_issue_comment("\n\n".join((*(reply for _, reply in results), marker)))
    except GithubException as error:
        # The conversation is locked, so that only the reaction answers. Another attempt would run the commands again.
        if not is_locked(error):
            raise


def refuse_commands(repository: Repository, comment: CommandComment) -> None:
    """React with -1 to a comment whose author has no write access."""
    _add_reaction(repository.get_pull(comment.number).get_issue_comment(comment.comment_id), "-1")


def _run_command(
    repository: Repository, pull: PullRequest, command: Command, handlers: Handlers, workflow: str
) -> tuple[bool, str]:
    """Run one command; return whether it succeeded, and the reply."""
    if command.verb is Verb.HELP or command.problem:
        return not command.problem, f"{command.problem}\n\n{HELP}".strip()
    head = pull.head.sha
    if command.verb is Verb.ACCEPT:
        acceptance_reply = f"Accepted for {head[:10]}: {format_code(command.text, _MAX_REASON_CHARACTERS)}"
        unmeasured_reply = (
            f"The head is now {head[:10]}, which has not been measured yet. Accept this head once it has been measured."
        )
        return (True, acceptance_reply) if handlers.accept(head, command.text) else (False, unmeasured_reply)
    if pull.state != "open":
        return False, "The pull request is closed, so it is no longer measured."
    if command.verb is Verb.RERUN:
        problem = dispatch_workflow(repository, workflow, {"base": pull.base.sha, "head": head})
        return not problem, problem or f"Measuring {head[:10]} again."
    if not command.text:
        return False, f"Specify the case: `/faultwatch {command.verb} CASE`."
    return handlers.order_job(command, head)


def _add_reaction(original: IssueComment, content: str) -> None:
    """React to a comment, unless it was deleted."""
    try:
        original.create_reaction(content)
    except GithubException as error:
        if error.status not in {404, 410}:
            raise
