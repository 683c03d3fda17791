"""The interface of a forge: what the service needs of GitHub, GitLab and Forgejo, and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from service.forges.comment_commands import Command
from service.forges.comment_links import Links
from service.forges.webhook_actions import RepositoryAction, WebhookAction
from service.rules.gate.insight import Insight
from service.rules.gate.verdict import GateOutcome
from service.schemas.triage import BisectPolicy


@dataclass(frozen=True, slots=True)
class Publication:
    """What to publish, and where."""

    repository: str
    """Its name on the forge."""
    number: int
    outcome: GateOutcome
    links: Links
    comment_id: int | None
    """The last known state of the comment."""
    key: str
    """Identifies this version of the outcome, so that a later attempt finds the parts that were published."""
    attempted: bool
    """Whether an earlier attempt may have published some of it."""
    bisect_policies: tuple[BisectPolicy, ...] = (BisectPolicy.OFF,)
    """The policies of the subjects that the gate measured: they decide whether the comment offers a bisect."""

    def add_insights(self, insights: tuple[Insight, ...]) -> Publication:
        """Return the same publication with what profiles show."""
        return replace(self, outcome=replace(self.outcome, insights=insights))


@dataclass(frozen=True, slots=True)
class Handlers:
    """What the service does for commands."""

    accept: Callable[[str, str], bool]
    """Takes the head and the reason; returns False if the service does not know the head."""
    order_job: Callable[[Command, str], tuple[bool, str]]
    """Takes a command that needs a host, and the head; returns whether a job was ordered, and the reply."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call failed.

    Attributes
    ----------
    status
        HTTP status; None without an answer.
    headers
        Headers of the answer, their names in lower case.
    """

    status: int | None
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook that the forge has sent.

    Attributes
    ----------
    id
        Of the delivery; the same if it is sent again.
    is_relevant
        Whether the service acts on such events.
    """

    id: str
    event: str
    is_relevant: bool


Header = Callable[[str], str]
"""Returns a header of a request; an empty text where it has none of that name."""


class Forge(Protocol):
    """A forge. Every method that calls it raises what :meth:`find_refusal` explains."""

    @property
    def address(self) -> str:
        """Where people reach this service, for links; empty if they cannot."""

    def publish(self, publication: Publication) -> int | None:
        """Write the one comment of a pull request, or edit it, and set the status of the head.

        The comment is only updated for the newest head. Publishing twice has the effect of publishing once.

        Returns
        -------
        The id of the comment; None if there is none.
        """

    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery that a request to the webhook is; None if the forge has not sent it."""

    def list_actions(self, event: str, payload: Mapping[str, Any]) -> tuple[WebhookAction, ...]:
        """Return what to do for a webhook; nothing where it is irrelevant or not as documented."""

    def run_action(self, action: RepositoryAction, handlers: Handlers) -> None:
        """Carry out an action that needs the forge's API, such as the answer to a command."""

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed; None for an exception that is not a response of the forge."""
