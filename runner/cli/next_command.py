"""Writes the next command that a result suggests, as it works where this one was typed."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from runner.cli.untrusted_text import strip_terminal_commands


class TypedTarget(Struct, frozen=True):
    """What a command looked at, as it was typed.

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
        """Return a command that looks at a case of the same repository.

        Parameters
        ----------
        span
            Its RANGE; empty for the last commit.
        case
            The name of the case, which may be one of another workload of the repository.
        options
            What follows.
        """
        other = case.partition("[")[0]
        argument = self.name_argument if other == self.workload else other
        words = ["faultwatch", command, *([argument] if argument else []), *([span] if span else [])]
        words += ["--repo", self.repo] if self.repo else []
        words += ["--case", case]
        for variable in self.variables:
            words += ["--env", variable]
        return strip_terminal_commands(shlex.join([*words, *options]))
