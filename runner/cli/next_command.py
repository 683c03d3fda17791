"""Writes the command that a result suggests as the next step, so that it works in the current directory."""

import shlex
from collections.abc import Sequence

from msgspec import Struct

from runner.cli.escape_for_terminals import strip_escape_sequences


class TypedTarget(Struct, frozen=True):
    """The target of a command, as the user typed it.

    Attributes
    ----------
    workload
        The name of the workload.
    name_argument
        The WORKLOAD argument; None if it was left out.
    repo
        The argument of ``--repo``; None if it was left out.
    variables
        The arguments of ``--env``, as NAME=VALUE.
    """

    workload: str
    name_argument: str | None = None
    repo: str | None = None
    variables: tuple[str, ...] = ()

    def suggest(self, command: str, commit_range: str, case: str, options: Sequence[str] = ()) -> str:
        """Return a command line for a case of the same repository.

        Parameters
        ----------
        commit_range
            The RANGE of the command; empty for the last commit.
        case
            The name of the case, which may belong to another workload of the repository.
        options
            Further options.
        """
        workload_of_case = case.partition("[")[0]
        argument = self.name_argument if workload_of_case == self.workload else workload_of_case
        words = ["faultwatch", command]
        if argument:
            words.append(argument)
        if commit_range:
            words.append(commit_range)
        if self.repo:
            words += ["--repo", self.repo]
        words += ["--case", case]
        for variable in self.variables:
            words += ["--env", variable]
        return strip_escape_sequences(shlex.join([*words, *options]))
