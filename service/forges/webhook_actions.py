"""The actions of the service in response to webhooks, common to all forges.

A repository is named as :mod:`service.forges.qualified_names` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass

from service.forges.comment_commands import Command

ACCEPT_LABEL = "faultwatch: accept"
"""The label that accepts the change of a pull request."""
LABEL_REASON = "by label"
"""The recorded reason for an acceptance by label, as a label states none."""
MEASURE_LABEL = "faultwatch: measure"
"""The label that requests a measurement of the pull request by the default branch's workflow."""
_STRICT_CONFIG = ConfigDict(strict=True)
_Repository = Annotated[
    str,
    Field(
        pattern=r"^([a-z]+:)?[a-z0-9_.-]*[a-z0-9_-][a-z0-9_.-]*(/[a-z0-9_.-]*[a-z0-9_-][a-z0-9_.-]*)+$", max_length=140
    ),
]
_Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")]
_Number = Annotated[int, Field(ge=1, lt=2**31)]
_Id = Annotated[int, Field(ge=1, lt=2**63)]
_Time = Annotated[AwareDatetime, Field(strict=False)]
"""A time, which JSON has as a text."""
_Login = Annotated[str, Field(pattern=r"^[^\x00-\x20\x7f]+$", max_length=100)]


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class CommandComment:
    """Run the commands of a comment. The author's permission has not been checked yet."""

    repository: _Repository
    number: _Number
    comment_id: _Id
    author: _Login
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class RecordHead:
    """Record the head of a pull request, which is going to be measured."""

    repository: _Repository
    number: _Number
    head: _Commit


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class AcceptHead:
    """Accept the change of a head, by label. The permission of the user has not been checked yet."""

    repository: _Repository
    number: _Number
    head: _Commit
    author: _Login


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class RecordMerge:
    """Record that a head was merged into its base."""

    repository: _Repository
    number: _Number
    head: _Commit
    commit: _Commit
    """The merge commit."""


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class MeasureHead:
    """Start the workflow that measures a pull request. The permission of the user has not been checked yet."""

    repository: _Repository
    head: _Commit
    number: _Number | None = None
    """The pull request; None if the payload does not identify it, which means the pull request with this head."""
    author: _Login | None = None
    """The user who requested the measurement; None if the forge itself has approved the pull request's workflow."""


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class MeasureBranch:
    """Start the workflow that measures the new head of the default branch."""

    repository: _Repository
    head: _Commit


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class ForgetRepositories:
    """Stop publishing in repositories from which the App was removed."""

    repositories: tuple[_Repository, ...]


@dataclass(frozen=True, slots=True, config=_STRICT_CONFIG)
class UpdateJob:
    """Update a job whose workflow has started or ended."""

    repository: _Repository
    job_id: int
    url: Annotated[str, Field(pattern=r"^https?://[^\s\x00]*$", max_length=1000)]
    conclusion: Annotated[str, Field(max_length=50)] | None
    """The conclusion of the workflow run; None while it runs."""
    created_at: _Time
    """When the forge created the workflow run."""


RepositoryAction = CommandComment | AcceptHead | MeasureHead | MeasureBranch
"""Actions that call the API of the forge."""
WebhookAction = UpdateJob | RecordHead | RecordMerge | ForgetRepositories | RepositoryAction
Payload = Mapping[str, Any]
"""The body of a webhook, whose text is untrusted."""
EventHandlers = Mapping[str, Callable[[Payload], Iterator[WebhookAction]]]
"""Functions that yield the actions for an event of a forge, by the name of the event on that forge."""


def decide_actions(handlers: EventHandlers, event: str, payload: Payload) -> tuple[WebhookAction, ...]:
    """Return the actions for a webhook; none if the event is irrelevant, or a field is missing or invalid."""
    handler = handlers.get(event)
    try:
        return tuple(handler(payload)) if handler else ()
    except (KeyError, TypeError, AttributeError, IndexError, ValidationError):
        return ()
