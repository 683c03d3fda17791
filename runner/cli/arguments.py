"""The arguments of the commands that measure: WORKLOAD comes first, RANGE second, in every command."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import click
from msgspec import Struct

from runner.cli import completers
from runner.cli.terminal import say
from runner.errors import FaultwatchError

_PARENT = re.compile(r"(^|/)\.\.(/|$)")
_FORM = "put the older commit first, as in v1.0..HEAD"
_ONE = "this looks at more than one commit: write a range, as in {0}~10..{0}"


def is_range(word: str) -> bool:
    """Return whether a word is a range of commits, such as ``v1.0..HEAD``; ``../parser`` is a path."""
    return ".." in word and not _PARENT.search(word)


def ends_of(span: str) -> tuple[str, str]:
    """Return the two revisions of a range A..B, or A...B; without B, it is HEAD.

    A is required: in a CI job whose variable is empty, HEAD would be compared with itself.

    Raises
    ------
    FaultwatchError
        It is not such a range.
    """
    first, dots, last = span.partition("..")
    last = last.removeprefix(".")
    if not first or not dots or ".." in last:
        raise FaultwatchError(f"{span!r} does not have the form A..B", _FORM)
    return first, last or "HEAD"


class Target(Struct, frozen=True):
    """What a command looks at, as its arguments name it.

    Attributes
    ----------
    workload, span
        The WORKLOAD and the RANGE; None if they are left out.
    renamed
        The old spellings that were used, as a sentence names them.
    """

    workload: str | None
    span: str | None
    renamed: tuple[str, ...] = ()


def tell_apart(words: Sequence[str], *, pair: bool = False, single: bool = False) -> Target:
    """Tell a WORKLOAD from a RANGE, both of which may be left out. Pure.

    Parameters
    ----------
    words
        The arguments, two at most.
    pair
        Whether BASE and HEAD, or BASE alone, are an old spelling of the RANGE.
    single
        Whether one commit may stand for the RANGE.

    Raises
    ------
    FaultwatchError
        The arguments are in another order, or the second one is no range.
    """
    match [(word, is_range(word)) for word in words]:
        case []:
            return Target(None, None)
        case [(span, True)]:
            return Target(None, span)
        case [(base, False)] if pair:
            return Target(None, f"{base}..HEAD", ("BASE",))
        case [(workload, False)]:
            return Target(workload, None)
        case [(workload, False), (span, several)] if several or single:
            return Target(workload, span)
        case [(base, False), (head, False)] if pair:
            return Target(None, f"{base}..{head}", ("BASE HEAD",))
        case [(span, True), (workload, _)]:
            raise FaultwatchError("WORKLOAD comes before RANGE", f"swap them: {workload} {span}")
    raise FaultwatchError(f"{words[1]!r} is not a range of commits", _ONE.format(words[1]))


_ARGUMENT: dict[str, Any] = {"metavar": "[WORKLOAD]", "required": False}
_old_workload = click.option("--workload", "old_workload", hidden=True)


def workload_argument(function: Any) -> Any:
    """Add WORKLOAD to a command that looks at one commit. Default: the workload.toml of --repo or the folder."""

    @click.argument("workload_name", **_ARGUMENT, shell_complete=completers.workloads)
    @_old_workload
    @functools.wraps(function)
    def resolved(*, workload_name: str | None, old_workload: str | None, **rest: Any) -> Any:
        if workload_name and is_range(workload_name):
            raise click.UsageError(f"{workload_name!r} is a range, but this command takes one commit, with --revision.")
        target = _with_old(Target(workload_name, None), old_workload, None)
        return function(workload_name=target.workload, **rest)

    return resolved


def workload_and_range(*, pair: bool = False, single: bool = False, old_range: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that adds WORKLOAD and RANGE to a command.

    Parameters
    ----------
    pair
        Whether BASE and HEAD are an old spelling of the RANGE, which is required.
    single
        Whether one commit may stand for the RANGE.
    old_range
        Whether ``--range`` is an old spelling of it.
    """

    def decorate(function: Any) -> Any:
        metavar = "RANGE" if pair else "[RANGE]"

        @click.argument("workload_name", **_ARGUMENT, shell_complete=completers.workloads_and_revisions)
        @click.argument("span", metavar=metavar, required=False, shell_complete=completers.revisions)
        @_old_workload
        @functools.wraps(function)
        def resolved(*, workload_name: str | None, span: str | None, old_workload: str | None, **rest: Any) -> Any:
            words = [word for word in (workload_name, span) if word is not None]
            target = _with_old(tell_apart(words, pair=pair, single=single), old_workload, rest.pop("old_span", None))
            if pair and target.span is None:
                raise click.UsageError("Missing argument 'RANGE': write BASE..HEAD, as in main..HEAD.")
            return function(workload_name=target.workload, span=target.span, **rest)

        return click.option("--range", "old_span", hidden=True)(resolved) if old_range else resolved

    return decorate


def _with_old(target: Target, workload: str | None, span: str | None) -> Target:
    """Add what old options name, and say how it is spelled now.

    Raises
    ------
    FaultwatchError
        Something is named twice.
    """
    for old, new, value in (("--workload", target.workload, workload), ("--range", target.span, span)):
        if new is not None and value is not None:
            raise FaultwatchError(f"{new} and {old} {value} name the same thing twice", f"leave {old} out")
    renamed = (
        *(["--workload"] if workload is not None else []),
        *(["--range"] if span is not None else []),
        *target.renamed,
    )
    target = Target(target.workload or workload, target.span or span, renamed)
    if renamed:
        end = target.span if target.span is None or is_range(target.span) else f"--revision {target.span}"
        words = [word for word in (target.workload, end) if word]
        command = click.get_current_context().command_path
        say(f"{' and '.join(renamed)}: old spelling; now: {command} {' '.join(words)}")
    return target
