"""The arguments of the commands that measure: WORKLOAD comes first, RANGE second, in every command."""

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from runner.cli import completers
from runner.errors import FaultwatchError

if TYPE_CHECKING:
    from runner.contract.base import Strict

_Model = TypeVar("_Model", bound="Strict")
_PARENT = re.compile(r"(^|/)\.\.(/|$)")
_MAX_SECONDS = 1e9
"""The longest duration, some thirty years: a command cannot wait for infinity, or write it as a time."""
_MAX_NUMBER = 2**64
"""The largest number that the contract accepts."""
_RANGE_HINT = "put the older commit first, as in v1.0..HEAD"
_NOT_A_RANGE = "this command needs more than one commit: write a range, as in {0}~10..{0}"


def is_range(word: str) -> bool:
    """Return whether a word is a range of commits, such as ``v1.0..HEAD``; ``../parser`` is a path."""
    return ".." in word and not _PARENT.search(word)


def parse_range(commit_range: str) -> tuple[str, str]:
    """Return the two revisions of a range A..B, or A...B; without B, it is HEAD.

    A is required: otherwise, a CI job in which the variable for A is empty would compare HEAD with itself.

    Raises
    ------
    FaultwatchError
        The text is not a range.
    """
    start, dots, end = commit_range.partition("..")
    end = end.removeprefix(".")  # the third dot of A...B
    if not start or not dots or ".." in end:
        raise FaultwatchError(f"{commit_range!r} does not have the form A..B", _RANGE_HINT)
    return start, end or "HEAD"


class Duration(click.ParamType[float]):
    """A time such as ``90``, ``90s``, ``5m`` or ``1h``, in seconds."""

    name = "time"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):  # click may pass a value that is converted already
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", value)
        if not match:
            self.fail(f"{value!r} is not a duration: write 90s, 5m or 1h.", parameter, context)
        seconds = float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]
        if seconds > _MAX_SECONDS:
            self.fail(f"{value!r} is too long: at most {_MAX_SECONDS:,.0f} seconds are allowed.", parameter, context)
        return seconds


class FiniteRange(click.FloatRange):
    """A finite number within limits. Limits alone would not exclude infinity and NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        if abs(number) > _MAX_NUMBER:
            self.fail(f"{value!r} is too large.", param, ctx)
        return number


def build_model(model: type[_Model], **fields: Any) -> _Model:
    """Return a model of the contract with values that the user has written.

    Raises
    ------
    FaultwatchError
        The contract does not accept a value.
    """
    from pydantic import ValidationError

    try:
        return model(**fields)
    except ValidationError as error:
        mistake = error.errors(include_url=False)[0]
        location = ".".join(map(str, mistake["loc"]))
        raise FaultwatchError(f"the service does not accept this {location}: {mistake['msg']}") from None


class Target(Struct, frozen=True):
    """The workload and the range of commits that the arguments of a command name.

    Attributes
    ----------
    workload, commit_range
        The WORKLOAD and the RANGE; None for one that was left out.
    """

    workload: str | None
    commit_range: str | None


def parse_target(words: Sequence[str], *, may_be_commit: bool = False) -> Target:
    """Assign at most two words to the arguments WORKLOAD and RANGE, either of which may be left out.

    Parameters
    ----------
    words
        The arguments.
    may_be_commit
        Whether a single commit is accepted as the RANGE.

    Raises
    ------
    FaultwatchError
        The arguments are in the wrong order, or the second one is not a range.
    """
    match [(word, is_range(word)) for word in words]:
        case []:
            return Target(workload=None, commit_range=None)
        case [(commit_range, True)]:
            return Target(workload=None, commit_range=commit_range)
        case [(workload, False)]:
            return Target(workload, commit_range=None)
        case [(workload, False), (commit_range, has_two_ends)] if has_two_ends or may_be_commit:
            return Target(workload, commit_range)
        case [(first_range, True), (second_range, True)]:
            raise FaultwatchError(f"{first_range!r} and {second_range!r} are both ranges", "pass only one RANGE")
        case [(commit_range, True), (workload, _)]:
            raise FaultwatchError("WORKLOAD comes before RANGE", f"swap them: {workload} {commit_range}")
    raise FaultwatchError(f"{words[1]!r} is not a commit range", _NOT_A_RANGE.format(words[1]))


_WORKLOAD_ARGUMENT: dict[str, Any] = {"metavar": "[WORKLOAD]", "required": False}


def add_workload_argument(function: Any) -> Any:
    """Add WORKLOAD to a command for one commit. Default: the workload.toml of --repo or of the current folder."""

    @click.argument("workload_name", **_WORKLOAD_ARGUMENT, shell_complete=completers.complete_workload)
    @functools.wraps(function)
    def wrapper(*, workload_name: str | None, **parameters: Any) -> Any:
        """Call the command, unless its WORKLOAD is a range."""
        if workload_name and is_range(workload_name):
            raise click.UsageError(
                f"{workload_name!r} is a range, but this command accepts only one commit, with --revision."
            )
        return function(workload_name=workload_name, **parameters)

    return wrapper


def add_workload_and_range(*, required: bool = False, may_be_commit: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that adds WORKLOAD and RANGE to a command.

    Parameters
    ----------
    required
        Whether the RANGE is required.
    may_be_commit
        Whether a single commit is accepted as the RANGE.
    """

    def decorate(function: Any) -> Any:
        metavar = "RANGE" if required else "[RANGE]"

        @click.argument("workload_name", **_WORKLOAD_ARGUMENT, shell_complete=completers.complete_workload_or_range)
        @click.argument("commit_range", metavar=metavar, required=False, shell_complete=completers.complete_revision)
        @functools.wraps(function)
        def wrapper(*, workload_name: str | None, commit_range: str | None, **parameters: Any) -> Any:
            """Call the command with its words sorted into the workload and the range."""
            # click assigns a single word to the first argument, even if the word is a range.
            words = [word for word in (workload_name, commit_range) if word is not None]
            target = parse_target(words, may_be_commit=may_be_commit)
            if required and target.commit_range is None:
                raise click.UsageError("Missing argument 'RANGE': write BASE..HEAD, as in main..HEAD.")
            return function(workload_name=target.workload, commit_range=target.commit_range, **parameters)

        return wrapper

    return decorate
