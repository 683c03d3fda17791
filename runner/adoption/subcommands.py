"""Finds the subcommands of a program that probably read a file, in the help that it prints."""

import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from runner.adoption.proposal import RunProposal

_READING_SUBCOMMANDS = (
    *("benchmark", "bench", "stats", "stat", "analyze", "analyse", "parse", "compile", "render", "highlight"),
    *("convert", "transform", "transpile", "translate", "minify", "optimize", "compress", "encode", "sort", "format"),
    *("fmt", "lint", "check", "validate", "verify", "tokenize", "lex", "dump", "frequency", "hash", "count", "info"),
    *("inspect", "print", "show", "view", "cat", "list", "tree", "query", "eval", "exec", "run"),
)
"""Names of subcommands that only read a file and compute, the most expensive first. Other subcommands, such as
`install` and `publish`, may change this host or another one."""
_BENCHMARKS = ("benchmark", "bench")
"""Names of subcommands that do work of their own, without a file."""
_MAX_SUBCOMMANDS = 6
"""The largest number of a program's subcommands that are tried."""
_HEADING = re.compile(r".{0,60}\b(?:sub)?commands?\b.{0,20}:\s*", re.IGNORECASE)
_ENTRY = re.compile(r"(?:\t| {1,8})([a-z][\w-]*)(?:,\s*[\w-]+)*(?:\s(.*))?")
"""An entry of a list of subcommands. The continuation line of a description is indented further."""
_HEADING_WITH_ENTRY = re.compile(r"(\s*(?:sub)?commands?:\s+)([a-z][\w-]*\s.*)", re.IGNORECASE)
"""A heading with the first entry of its list: ``Command: index   index sequences``."""
CHANGING_SUBCOMMAND = re.compile(
    r"install|update|upgrade|publish|upload|push|download|fetch|get|pull|login|serve|remove|delete|clean", re.IGNORECASE
)
"""Names of subcommands that may change this host or another one, or need the network."""
_CHOICES = re.compile(r"^\s+\{([\w,-]+)\}", re.MULTILINE)
"""The list of subcommands in the help of argparse: ``{add,remove}``."""


def list_subcommands(help_text: str) -> list[str]:
    """Return the subcommands in a help text that probably read a file, the most promising first."""
    names = _parse_subcommands(help_text)
    return [name for name in _READING_SUBCOMMANDS if name in names][:_MAX_SUBCOMMANDS]


def list_subcommands_about(help_text: str, words: re.Pattern[str]) -> list[str] | None:
    """Return the first few subcommands whose descriptions contain certain words; None if there are no subcommands.

    If this is true of more than half of them, it is what the program is about: then all that read a file come first.
    """
    descriptions = _parse_subcommands(help_text)
    names = [name for name, text in descriptions.items() if words.search(text) and not CHANGING_SUBCOMMAND.search(name)]
    if 2 * len(names) > len(descriptions):
        names = list(dict.fromkeys([*list_subcommands(help_text), *names]))
    return names[:_MAX_SUBCOMMANDS] if descriptions else None


def _parse_subcommands(help_text: str) -> dict[str, str]:
    """Return the subcommands that a help text lists, with the description of each."""
    descriptions = {name: "" for choices in _CHOICES.findall(help_text) for name in choices.split(",")}
    is_in_list = False
    for line in _put_entries_below_heading(help_text):
        entry = _ENTRY.fullmatch(line)
        if is_in_list and entry:
            descriptions[entry[1]] = entry[2] or ""
        elif line.strip():
            # A list of subcommands ends at the next line that is not indented. Other lines may separate its entries.
            is_in_list = _HEADING.fullmatch(line) is not None or (is_in_list and line.startswith((" ", "\t")))
    return descriptions


def _put_entries_below_heading(help_text: str) -> Iterator[str]:
    """Yield the lines of a help text; where a list of subcommands begins in the line of its heading, it is moved."""
    indentation = ""  # of the entries of such a list
    for line in help_text.splitlines():
        heading = _HEADING_WITH_ENTRY.fullmatch(line)
        if heading:
            indentation = " " * len(heading[1])
            yield "Commands:"
            yield f"  {heading[2]}"
        elif indentation and line.startswith(indentation):
            yield f"  {line.removeprefix(indentation)}"
        else:
            yield line


def list_subcommand_runs(start_command: str, help_text: str, file_runs: Iterable[RunProposal]) -> list[RunProposal]:
    """Return the commands that pass files to subcommands of a program which refused them without a subcommand.

    A subcommand that is a benchmark is tried without a file first.

    Parameters
    ----------
    start_command
        The command that starts the program, without arguments.
    file_runs
        The commands that passed a file to the program.
    """
    prefix = f"{start_command} "
    runs_with_arguments = [run for run in file_runs if run.command.startswith(prefix) and not run.is_fallback]
    names = list_subcommands(help_text)
    benchmark_runs = [RunProposal(f"{prefix}{name}") for name in names if name in _BENCHMARKS]
    return benchmark_runs + [
        replace(run, command=f"{prefix}{name} {run.command.removeprefix(prefix)}")
        for run in runs_with_arguments
        for name in names
    ]
