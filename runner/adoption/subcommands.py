"""Finds the subcommands with which a program reads a file, in what it prints as its help. Pure."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from runner.adoption.proposal import RunProposal

_READING_SUBCOMMANDS = (
    *("benchmark", "bench", "stats", "stat", "analyze", "analyse", "parse", "compile", "render", "highlight"),
    *("convert", "transform", "transpile", "translate", "minify", "optimize", "compress", "encode", "sort", "format"),
    *("fmt", "lint", "check", "validate", "verify", "tokenize", "lex", "dump", "frequency", "hash", "count", "info"),
    *("inspect", "print", "show", "view", "cat", "list", "tree", "query", "eval", "exec", "run"),
)
"""What subcommands that only read a file and compute are called, those that compute most first. Others may change the
host or another one, such as `install` and `publish`."""
_MAX_SUBCOMMANDS = 6
"""Subcommands of a program that are tried."""
_HEADING = re.compile(r".{0,60}\b(?:sub)?commands?\b.{0,20}:\s*", re.IGNORECASE)
_ENTRY = re.compile(r"(?:\t| {1,8})([a-z][\w-]*)(?:,\s*[\w-]+)*(?:\s.*)?")
"""A line of a list of subcommands. Descriptions that go on in the next line are further to the right."""
_CHOICES = re.compile(r"^\s+\{([\w,-]+)\}", re.MULTILINE)
"""How argparse lists subcommands."""


def list_subcommands(help_text: str) -> list[str]:
    """Return the subcommands that a help names and that probably read a file, the most promising first."""
    named = {name for choices in _CHOICES.findall(help_text) for name in choices.split(",")}
    in_list = False
    for line in help_text.splitlines():
        entry = _ENTRY.fullmatch(line)
        if in_list and entry:
            named.add(entry[1])
        elif line.strip():
            # A list of subcommands ends at the next heading. Its entries may be apart.
            in_list = _HEADING.fullmatch(line) is not None or (in_list and line.startswith((" ", "\t")))
    return [name for name in _READING_SUBCOMMANDS if name in named][:_MAX_SUBCOMMANDS]


def list_subcommand_runs(start_command: str, help_text: str, file_runs: Iterable[RunProposal]) -> list[RunProposal]:
    """Return the commands that give the subcommands of a program the files that the program alone has refused.

    Parameters
    ----------
    start_command
        The command that starts the program, without arguments.
    file_runs
        The commands that gave it one file each.
    """
    prefix = f"{start_command} "
    with_arguments = [run for run in file_runs if run.command.startswith(prefix) and not run.needs_failures]
    return [
        replace(run, command=f"{prefix}{name} {run.command.removeprefix(prefix)}")
        for run in with_arguments
        for name in list_subcommands(help_text)
    ]
