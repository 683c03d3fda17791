"""Types and the base class of all models of the contract."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, TypeAdapter

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
"""A name that is safe in a URL, in a file name and on a command line."""
CommitHash = Annotated[str, StringConstraints(pattern=r"^(?:[0-9a-f]{40}|[0-9a-f]{64})$")]
Text = Annotated[str, StringConstraints(max_length=100_000)]
"""Text from a program or a repository. Untrusted: escape it wherever it is shown."""
Count = Annotated[int, Field(ge=0, le=2**64)]
MAX_LINE_CHARACTERS = 1000
Line = Annotated[str, StringConstraints(max_length=MAX_LINE_CHARACTERS)]
"""A line of text, such as a reason, a remark or a title. Untrusted, like all text."""
Label = Annotated[str, StringConstraints(max_length=4000)]
"""Text from a program, such as a function or a file. Untrusted."""
Moment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), lt=datetime(9999, 12, 31, tzinfo=UTC))]
"""A plausible time, with a time zone."""
Parameter = Annotated[str, StringConstraints(max_length=4000)] | int | FiniteFloat | bool
"""The value of a parameter of a workload."""


def load_validation() -> None:
    """Import the modules that build validators, which takes long. pydantic imports them for its first validator."""
    TypeAdapter(int)


def format_parameter(value: Parameter) -> str:
    """Format the value of a parameter as text, as in names of cases and in commands."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class Strict(BaseModel):
    """Base of every model in the contract: immutable, and an unknown field is an error."""

    # Build validators on first use, so that commands start fast although they import models that they do not need.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
