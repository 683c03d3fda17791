"""Finds in the usage of a program with which other arguments it takes a file: ``pack -c -i FILE -o OUTPUT``."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec.structs import replace

from runner.adoption.proposal import RunProposal
from runner.adoption.subcommands import CHANGING_SUBCOMMAND

FILE_WORD = "{file}"
"""Stands for the input in the arguments that are returned."""
_OUTPUT_NAME = "faultwatch-output"
_USAGE = re.compile(r"^\W{0,3}usage\b(?:\s+of)?\s*[:=]?\s*(.*)$", re.IGNORECASE)
_CONTINUATION = re.compile(r"\s{4,}[-<\[{(]")
_OPTIONAL_PART = re.compile(r"\[[^\[\]]*\]")
_WORD = re.compile(r"<[^<>]*>|\S+")
_CHOICE = re.compile(r"(-?)[({<]?(-{0,2}\w[\w-]*)\|\S*")
"""Alternatives, of which the first one is used: ``-{c|d}``, ``(-c|-d)`` and ``<encode|decode>``."""
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_PLACEHOLDER = re.compile(r"[<{]?([A-Za-z][\w .-]{0,30})[>}]?")
_INPUT = re.compile(
    r"in|(?:the[ _-])?in(?:put)?[ _-]?(?:file|name|path)?[ _-]?(?:name|path|s)?(?:\.\w+)?|"
    r"(?:path[ _-]to[ _-])?(?:src|source)?[ _-]?file[ _-]?(?:name|path|s)?(?:\.\w+)?|src|source|path",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    r"out(?:put)?[ _-]?(?:file|name|path)?(?:name|path)?(?:\.\w+)?|dst|dest(?:ination)?", re.IGNORECASE
)
_INPUT_OPTION = re.compile(
    r"^\s*(?:-[A-Za-z][ ,|/]+)?(-i|-f|-in|--?in(?:put)?(?:[_-]?file)?|--file)"
    r"(?:[ =]+([<\[{]\w[\w-]*[>\]}]|[A-Z]+|string))?(?:[\s:]+(.*))?$"
)
"""A line of a help text with an option that may name an input, the placeholder of its value, and its description."""
_READING = re.compile(r"\b(?:input|load|read|open)\b", re.IGNORECASE)
_SHORT_FILE = frozenset({"-f", "--file"})
"""Options that may as well name a script, or an output."""
_MODE_OPTION = re.compile(
    r"^\s*(?:-[A-Za-z][ ,|/]+)?(--?[A-Za-z][\w-]*)[\s:]+(?:compress|encode|pack)\b", re.IGNORECASE
)
"""A line of a help text with an option by which a program does its work, and not the opposite."""
_MAX_WORDS = 8
"""A usage with more required words needs more than a file."""
_MAX_FILES = 2
"""How many files are tried with the arguments."""


def list_usage_arguments(text: str) -> list[str]:
    """Return arguments with which a program takes a file, as its usage says; empty if it takes the file alone.

    The word :data:`FILE_WORD` stands for the file. Optional arguments are left out. Where the usage leaves out the
    file too, the list of options may name one that takes it.

    Parameters
    ----------
    text
        What the program prints without arguments, or its help.
    """
    lines = text.splitlines()
    for number, line in enumerate(lines):
        usage = _USAGE.match(line)
        if usage:
            arguments = _choose_arguments(_join_continuation(usage[1], lines[number + 1 :]))
            if arguments:
                return [] if arguments == FILE_WORD else [arguments]
    return _list_input_options(lines)


def _join_continuation(first_line: str, next_lines: list[str]) -> str:
    """Return a usage in one line; its first line may be below the word "usage", and others may follow, indented."""
    parts = [first_line]
    for line in next_lines:
        if not "".join(parts).strip() or _CONTINUATION.match(line):
            parts.append(line)
        else:
            break
    return " ".join(parts)


def _choose_arguments(usage: str) -> str:
    """Return the required arguments of a usage with values; empty if it needs something unknown, or no file."""
    previous = ""
    while previous != usage:
        previous, usage = usage, _OPTIONAL_PART.sub(" ", usage)
    words = _WORD.findall(re.sub(r"\.{2,}|…|=", " ", usage))[1:]  # without the program
    arguments = [_choose_value(word) for word in words]
    if len(arguments) > _MAX_WORDS or "" in arguments or arguments.count(FILE_WORD) != 1:
        return ""
    return " ".join(arguments)


def _choose_value(word: str) -> str:
    """Return an option as it is, the first of several alternatives, or a value; empty if its meaning is unknown."""
    choice = _CHOICE.fullmatch(word)
    chosen_word = choice[1] + choice[2] if choice else word
    if choice or _OPTION.fullmatch(word):
        return "" if CHANGING_SUBCOMMAND.search(chosen_word) else chosen_word
    match = _PLACEHOLDER.fullmatch(word)
    if match and _OUTPUT.fullmatch(match[1]):
        return f"{_OUTPUT_NAME}{PurePosixPath(match[1]).suffix}"
    return FILE_WORD if match and _INPUT.fullmatch(match[1]) else ""


def _list_input_options(lines: list[str]) -> list[str]:
    """Return the first option of a help text that takes an input, with the file, and with the mode of a compressor."""
    mode = next((f"{match[1]} " for match in map(_MODE_OPTION.match, lines) if match), "")
    for line, next_line in pairwise([*lines, ""]):
        match = _INPUT_OPTION.match(line)
        if match is None:
            continue
        names_file = bool(match[2]) and bool(_INPUT.fullmatch(match[2].strip("<>[]{}"))) and match[1] not in _SHORT_FILE
        if names_file or _READING.search(match[3] or next_line):
            return list(dict.fromkeys((f"{mode}{match[1]} {FILE_WORD}", f"{match[1]} {FILE_WORD}")))
    return []


def list_usage_runs(start_command: str, text: str, file_runs: Sequence[RunProposal]) -> list[RunProposal]:
    """Return commands that give files to a program which refused each file alone, with the arguments of its usage.

    Parameters
    ----------
    start_command
        The command that starts the program, without arguments.
    text
        What the program prints without arguments, or its help.
    file_runs
        The commands that passed a file to the program.
    """
    runs_by_file = {run.file: run for run in file_runs}
    inputs = [run for run in runs_by_file.values() if run.input_file]
    return [
        replace(run, command=f"{start_command} {_fill_in(arguments, run.file)}", is_fallback=False)
        for arguments in list_usage_arguments(text)
        for run in (inputs or list(runs_by_file.values()))[:_MAX_FILES]
    ]


def _fill_in(arguments: str, file: str) -> str:
    """Return arguments with a file in place of its word; an output without a suffix gets that of the file."""
    output = f"{_OUTPUT_NAME}{PurePosixPath(file).suffix}"
    return re.sub(rf"{_OUTPUT_NAME}(?![.\w])", output, arguments).replace(FILE_WORD, file)
