"""Makes an input in a common format that a program asks for, if the project keeps no such file."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct

from runner.adoption.proposal import BuildProposal, RunProposal, add_build_step
from runner.adoption.sources import Sources
from runner.adoption.subcommands import list_subcommands_about

_BASES = r'tr 0-9 ACGTACGTAC | tr -d "\n"'
"""Makes nucleotides from the digits of numbers, which are always the same."""
_NUMBERS = "seq 1000003 24943 1000000000"
_PARTS = r"\(...\)\(..\)\(.*\)"
"""Matches a number, and its parts."""
_TABLE = rf'{{ echo id,name,group,value; {_NUMBERS} | sed "s/{_PARTS}/&,n\1,\2,\1.\3/"; }}'
"""Makes a table with a heading from numbers and their parts: some columns have few values, and others many."""
_NOT_OPTION = r"(?<![-/])"
"""Nothing precedes the name of a format by which it is an option, such as ``--csv``, which usually is about output."""


class InputFormat(Struct, frozen=True):
    """A format of inputs that ``init`` can make.

    Attributes
    ----------
    name
        Its usual name.
    suffixes
        The suffixes of such files; the made one has the first.
    words
        Recognises its name, or the name of such a file, in a usage text.
    maker
        A shell command that prints about a megabyte or more in this format, always the same.
    """

    name: str
    suffixes: tuple[str, ...]
    words: re.Pattern[str]
    maker: str

    @property
    def file(self) -> str:
        """The name of the file that is made."""
        return f"faultwatch-input{self.suffixes[0]}"


_FORMATS = (
    InputFormat(
        "FASTQ",
        (".fq", ".fastq"),
        re.compile(r"\bfastq\b|\bfast[ax]/q\b|\.(?:fq|fastq)\b", re.IGNORECASE),
        # Reads that overlap, because their length does not divide that of a round. The name and the quality of a read
        # may be any text, so they repeat its bases.
        "for round in 1 2 3; do seq 1000003 24943 1000000000; done | "
        rf'{_BASES} | fold -w 100 | sed "s/.*/@&\n&\n+\n&/"',
    ),
    InputFormat(
        "FASTA",
        (".fa", ".fasta", ".fna"),
        re.compile(r"\bfasta\b|\.(?:fa|fasta|fna)\b", re.IGNORECASE),
        f'{{ echo ">sequence"; seq 1000003 7919 1000000000 | {_BASES} | fold -w 60; echo; }}',
    ),
    InputFormat("TSV", (".tsv",), re.compile(_NOT_OPTION + r"\btsv\b", re.IGNORECASE), rf'{_TABLE} | tr , "\t"'),
    InputFormat("CSV", (".csv",), re.compile(_NOT_OPTION + r"\bcsv\b", re.IGNORECASE), _TABLE),
    InputFormat(
        "JSON lines",
        (".jsonl", ".ndjson"),
        re.compile(_NOT_OPTION + r"\b(?:jsonl|ndjson|json[ -]lines)\b", re.IGNORECASE),
        rf'{_NUMBERS} | sed "s/{_PARTS}/{{\"id\": &, \"name\": \"n\1\", \"group\": \"g\2\", \"value\": \1.\3}}/"',
    ),
)
"""The first format that a text names is made. A program that reads FASTQ usually reads FASTA too."""


def find_missing_format(sources: Sources, usage: str) -> InputFormat | None:
    """Return the first format that a usage text names; None if it names none, or if the project keeps such files."""
    named_format = next((one for one in _FORMATS if one.words.search(usage)), None)
    kept_suffixes = {PurePosixPath(file.removesuffix(".gz")).suffix for file in sources.files}
    return named_format if named_format and kept_suffixes.isdisjoint(named_format.suffixes) else None


def add_making_step(build: BuildProposal, input_format: InputFormat) -> BuildProposal:
    """Return a build that also makes an input."""
    return add_build_step(build, f"{input_format.maker} > {input_format.file}")


def list_made_input_runs(start_command: str, usage: str, input_format: InputFormat) -> list[RunProposal]:
    """Return the commands that give the made input to a program, or to its subcommands whose description names it."""
    return [
        RunProposal(" ".join((start_command, *name, input_format.file)), input_file=input_format.file)
        for name in _list_subcommand_words(usage, input_format)
    ]


def _list_subcommand_words(usage: str, input_format: InputFormat) -> Iterable[list[str]]:
    """Return the words before the file: one subcommand each, or none if the program has no subcommands."""
    names = list_subcommands_about(usage, input_format.words)
    return [[name] for name in names] if names is not None else [[]]
