"""What a webhook of GitHub asks for. Pure: payload in, work out.

Whatever it reads there was signed by GitHub, and most of it was written by strangers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from service.github.commands import Command, parse

EVENTS = frozenset({"push", "pull_request", "issue_comment", "check_run", "installation", "workflow_run"})
LABEL = "faultwatch: accept"
"""The label that accepts what changed. Whoever may label may triage."""


@dataclass(frozen=True, slots=True)
class Said:
    """Commands in a comment, by somebody who may not be allowed to give them."""

    repository: str
    number: int
    comment_id: int
    by: str
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Head:
    """A pull request has a head that is going to be measured."""

    repository: str
    number: int
    head: str


@dataclass(frozen=True, slots=True)
class Accept:
    """A label accepts what a head changes."""

    repository: str
    number: int
    head: str
    by: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A head has come into its base."""

    repository: str
    number: int
    head: str
    commit: str
    """As which it did."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A pull request is to be measured by order of the service."""

    repository: str
    head: str
    number: int | None = None
    """None where GitHub does not say: the pull request is that with this head."""


@dataclass(frozen=True, slots=True)
class Follow:
    """The default branch has got new commits."""

    repository: str
    head: str


@dataclass(frozen=True, slots=True)
class Forget:
    """The App may not write to these repositories any more."""

    repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """A workflow that carries out a job has begun, or ended."""

    repository: str
    job_id: int
    url: str
    conclusion: str | None
    """How it ended; None where it did not yet."""


Work = Ran | Said | Head | Accept | Merged | Measure | Follow | Forget
Payload = Mapping[str, Any]
_JOB = re.compile(r"[a-z]+ ([1-9][0-9]{0,17})")
"""What the workflows that carry out jobs call their runs."""


def react(event: str, payload: Payload) -> tuple[Work, ...]:
    """Return what a webhook asks for; nothing where it does not matter here, or lacks what it should have."""
    reactor = _REACTORS.get(event)
    try:
        return tuple(reactor(payload)) if reactor else ()
    except (KeyError, TypeError, AttributeError, IndexError):
        return ()


def _issue_comment(payload: Payload) -> Iterator[Work]:
    comment, issue = payload["comment"], payload["issue"]
    if payload["action"] != "created" or "pull_request" not in issue or comment["user"]["type"] == "Bot":
        return
    commands = parse(comment["body"] or "")
    if commands:
        yield Said(_repository(payload), issue["number"], comment["id"], comment["user"]["login"], commands)


def _pull_request(payload: Payload) -> Iterator[Work]:
    """A pull request of the repository itself starts its own workflow; one from a fork waits for approval."""
    pull = payload["pull_request"]
    yield Head(_repository(payload), pull["number"], pull["head"]["sha"])
    if payload["action"] == "labeled" and payload["label"]["name"].lower() == LABEL:
        yield Accept(_repository(payload), pull["number"], pull["head"]["sha"], payload["sender"]["login"])
    if payload["action"] == "closed" and pull["merged"]:
        yield Merged(_repository(payload), pull["number"], pull["head"]["sha"], pull["merge_commit_sha"])


def _workflow_run(payload: Payload) -> Iterator[Work]:
    """A workflow of a pull request from a fork runs once somebody approved it; its job has no identity to show."""
    run = payload["workflow_run"]
    if run["event"] == "workflow_dispatch" and (found := _JOB.fullmatch(run["display_title"])):
        yield Ran(_repository(payload), int(found[1]), run["html_url"], run["conclusion"])
        return
    foreign = run["head_repository"]["id"] != payload["repository"]["id"]
    if payload["action"] == "in_progress" and run["event"] == "pull_request" and foreign:
        yield Measure(_repository(payload), run["head_sha"])


def _check_run(payload: Payload) -> Iterator[Work]:
    check = payload["check_run"]
    if payload["action"] != "rerequested":
        return
    pulls = check.get("pull_requests") or ()
    yield Measure(_repository(payload), check["head_sha"], pulls[0]["number"] if pulls else None)


def _push(payload: Payload) -> Iterator[Work]:
    if payload["ref"] == f"refs/heads/{payload['repository']['default_branch']}" and not payload["deleted"]:
        yield Follow(_repository(payload), payload["after"])


def _installation(payload: Payload) -> Iterator[Work]:
    if payload["action"] in {"deleted", "suspend"}:
        yield Forget(tuple(one["full_name"].lower() for one in payload.get("repositories") or ()))


def _repository(payload: Payload) -> str:
    return str(payload["repository"]["full_name"]).lower()


_REACTORS = {
    "issue_comment": _issue_comment,
    "pull_request": _pull_request,
    "workflow_run": _workflow_run,
    "check_run": _check_run,
    "push": _push,
    "installation": _installation,
}
