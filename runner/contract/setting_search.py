"""Searches for the settings that moved a metric: the request, and what to measure next or the result."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from runner.contract.base import CommitHash, Name, Parameter, Strict, format_parameter
from runner.contract.commit_search import NothingToFind
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host

PARAMETER_PREFIX = "parameter."
"""The prefix of settings that are parameters of the case."""

SettingName = Annotated[str, Field(max_length=200)]
SettingValue = Annotated[str, Field(max_length=4000)] | None
"""The value of a setting, as in an environment; None if it is not set."""


def list_parameters(parameters: Mapping[str, Parameter]) -> dict[str, str]:
    """Return the parameters of a case as settings, named ``parameter.NAME``."""
    return {f"{PARAMETER_PREFIX}{name}": format_parameter(value) for name, value in parameters.items()}


class SettingChange(Strict):
    """A setting that differs between the two environments; ``parameter.NAME`` is one of the case's parameters."""

    name: SettingName
    before: SettingValue
    after: SettingValue


class SettingSearchRequest(Strict):
    """A request for the settings that moved a metric.

    The stored runs are the only state of a search. They are experimental (``Report.experimental``), and measure one
    revision in the given environment and case with some of the settings changed.
    """

    subject: Name
    revision: CommitHash
    host: Host
    environment: Environment
    """The environment before the change, with no setting changed."""
    case: Case
    """The case before the change."""
    metric: Annotated[str, Field(max_length=200)]
    settings: tuple[SettingChange, ...] = Field(min_length=1, max_length=64)
    min_difference: float = Field(
        default=0, ge=0, le=2**64, allow_inf_nan=False, validation_alias=AliasChoices("min_difference", "least")
    )
    """The smallest relevant difference, in the metric's unit."""


class MeasureSettings(Strict):
    """Next, measure with these settings at their new values, and the others at their old values."""

    kind: Literal["measure"] = "measure"
    changed: tuple[str, ...]


class FoundSettings(Strict):
    """The search has ended. These settings together cause the difference, and none of them can be omitted."""

    kind: Literal["found"] = "found"
    settings: tuple[str, ...]
    before: Number
    after: Number
    values_without: dict[str, Number] = Field(validation_alias=AliasChoices("values_without", "without"))
    """For each of the settings, the value of the metric with only the other settings changed, if it is known."""
    probability: float = 1.0


SettingAnswer = MeasureSettings | FoundSettings | NothingToFind


class SettingSearch(Strict):
    """The state of a search."""

    stored_runs: int = Field(validation_alias=AliasChoices("stored_runs", "known"))
    """Number of stored runs that the search could use."""
    answer: SettingAnswer = Field(discriminator="kind")
