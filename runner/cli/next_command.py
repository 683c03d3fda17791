"""Writes the command that a result suggests next, so that it works in the current directory."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from runner.cli.escape_for_terminals import strip_terminal_commands


class TypedTarget(Struct, frozen=True):
    """The target of a command, as the user typed it.

    Attributes
    ----------
    workload
        The name of the workload.
    name_argument
        The WORKLOAD of the command; None if it was left out.
    repo
        Its ``--repo``; None if it was left out.
    variables
        Its ``--env``, as NAME=VALUE.
    """

    workload: str
    name_argument: str | None = None
    repo: str | None = None
    variables: tuple[str, ...] = ()

    def suggest(self, command: str, span: str, case: str, options: Sequence[str] = ()) -> str:
        """Return a command line for a case of the same repository.

        Parameters
        ----------
        span
            The RANGE of the command; empty for the last commit.
        case
            The name of the case, which may belong to another workload of the repository.
        options
            Further options.
        """
        other = case.partition("[")[0]
        argument = self.name_argument if other == self.workload else other
        words = ["faultwatch", command, *([argument] if argument else []), *([span] if span else [])]
        words += ["--repo", self.repo] if self.repo else []
        words += ["--case", case]
        for variable in self.variables:
            words += ["--env", variable]
        return strip_terminal_commands(shlex.join([*words, *options]))
