"""The interface of a forge: everything that the service needs from GitHub, GitLab and Forgejo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from service.forges.comment_commands import Command
from service.forges.comment_links import Links
from service.forges.webhook_actions import RepositoryAction, WebhookAction
from service.rules.gate.case_diagnosis import CaseDiagnosis
from service.rules.gate.verdict import GateOutcome
from service.schemas.triage import BisectPolicy


@dataclass(frozen=True, slots=True)
class Publication:
    """The outcome of a gate, and the pull request on which to publish it."""

    repository: str
    """Its name on the forge."""
    number: int
    outcome: GateOutcome
    links: Links
    comment_id: int | None
    """The id of the comment; None if none has been posted yet."""
    key: str
    """Identifies this version of the outcome, so that a later attempt finds the parts that are already published."""
    attempted: bool
    """Whether an earlier attempt may have published parts of it."""
    bisect_policies: tuple[BisectPolicy, ...] = (BisectPolicy.OFF,)
    """The policies of the subjects that the gate measured: they decide whether the comment offers a bisect."""

    def add_diagnoses(self, diagnoses: tuple[CaseDiagnosis, ...]) -> Publication:
        """Return a copy of the publication with diagnoses from profiles."""
        return replace(self, outcome=replace(self.outcome, diagnoses=diagnoses))


@dataclass(frozen=True, slots=True)
class Handlers:
    """The functions with which the service carries out commands."""

    accept: Callable[[str, str], bool]
    """Accepts the change of a head, for a reason; returns False if the head is unknown or, when a comment asks for it,
    not measured yet."""
    order_job: Callable[[Command, str], tuple[bool, str]]
    """Orders the job of a command about a head; returns whether it was ordered, and the reply."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call failed.

    Attributes
    ----------
    status
        The HTTP status; None if there was no answer.
    headers
        The headers of the answer, with lower-case names.
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
        The id of the delivery; the same if it is sent again.
    is_relevant
        Whether the service acts on such events.
    """

    id: str
    event: str
    is_relevant: bool


Header = Callable[[str], str]
"""Returns a header of a request by its name; an empty text if the request has no such header."""


class Forge(Protocol):
    """A forge. Every method that calls it raises exceptions that :meth:`find_refusal` explains."""

    @property
    def address(self) -> str:
        """The public address of this service, for links; empty if it has none."""

    def publish(self, publication: Publication) -> int | None:
        """Create or edit the single comment of a pull request, and set the status of the head.

        The comment is only updated for the newest head. Publishing is idempotent.

        Returns
        -------
        int | None
            The id of the comment; None if there is none.
        """

    def read_delivery(self, header: Header, body: bytes) -> Delivery | None:
        """Return the delivery in a request to the webhook; None if the forge did not send the request."""

    def list_actions(self, event: str, payload: Mapping[str, Any]) -> tuple[WebhookAction, ...]:
        """Return the actions for a webhook; none if it is irrelevant or malformed."""

    def run_action(self, action: RepositoryAction, handlers: Handlers) -> None:
        """Carry out an action that needs the forge's API, such as the answer to a command."""

    def find_refusal(self, error: Exception) -> Refusal | None:
        """Return why a call failed; None for an exception that does not come from a call to the forge."""
