"""Makes an input in a common format that a program asks for, if the project keeps no such file."""

import re
from pathlib import PurePosixPath

from msgspec import Struct

from runner.adoption.proposal import BuildProposal, RunProposal, add_build_step
from runner.adoption.sources import Sources
from runner.adoption.subcommands import list_subcommands_about
from runner.adoption.usage_arguments import list_usage_runs

_BASES = r'tr 0-9 ACGTACGTAC | tr -d "\n"'
"""Makes nucleotides from the digits of numbers, which are always the same."""
_NUMBERS = "seq 1000003 24943 1000000000"
_PARTS = r"\(...\)\(..\)\(.*\)"
"""Matches a number, and its parts."""
_TABLE = rf'{{ echo id,name,group,value; {_NUMBERS} | sed "s/{_PARTS}/&,n\1,\2,\1.\3/"; }}'
"""Makes a table with a heading from numbers and their parts: some columns have few values, and others many."""
_BYTES = "seq {first} 7919 1000000000 | head -c {size}"
"""Prints up to a megabyte of numbers, which are the samples of a sound or an image: always the same, like noise."""
_WAV_HEADER = r"RIFF\44\0\20\0WAVEfmt \20\0\0\0\1\0\2\0\104\254\0\0\20\261\2\0\4\0\20\0data\0\0\20\0"
"""The header of a sound with two channels of 16 bits, 44,100 samples a second and a megabyte of samples."""
_FRAME_BYTES = 352 * 288 * 3 // 2
"""The size of a frame of video with half the resolution for colours."""
_CLAUSES = (
    "seq 100000000003 24943001 598835077002 | "
    r'sed "s/\(.\)\(...\)/ \1:\2/g; s/ [13579]:/ -1/g; s/ .:/ 1/g; s/$/ 0/"'
)
"""Makes clauses of three literals from numbers: a digit is the sign of a literal, and the next three are its variable.
A solver proves in tenths of a second that no assignment satisfies all of them."""
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
        "WAV",
        (".wav", ".wave"),
        re.compile(_NOT_OPTION + r"\bwav\b|\.wave?\b|\bwave[ _-]?files?\b", re.IGNORECASE),
        f'{{ printf "{_WAV_HEADER}"; {_BYTES.format(first=1000003, size=1 << 20)}; }}',
    ),
    InputFormat(
        "YUV4MPEG2",
        (".y4m",),
        re.compile(r"\by4m\b|\byuv4mpeg2?\b", re.IGNORECASE),
        r'{ printf "YUV4MPEG2 W352 H288 F25:1 Ip A1:1 C420\n"; for frame in 1 2 3 4 5; do echo FRAME; '
        f"{_BYTES.format(first='$frame', size=_FRAME_BYTES)}; done; }}",
    ),
    InputFormat(
        "PPM",
        (".ppm", ".pnm"),
        re.compile(_NOT_OPTION + r"\bp[pn]m\b|\.p[pn]m\b", re.IGNORECASE),
        rf'{{ printf "P6\n640 512\n255\n"; {_BYTES.format(first=1000003, size=640 * 512 * 3)}; }}',
    ),
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
    InputFormat(
        "DIMACS CNF",
        (".cnf", ".dimacs"),
        re.compile(r"\bcnf\b|\bdimacs\b(?! graph)", re.IGNORECASE),
        f'{{ echo "p cnf 1999 20000"; {_CLAUSES}; }}',
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
    """Return the commands that give the made input to a program, or to its subcommands whose description names it.

    A program without subcommands also gets the input with the other arguments that its usage requires.
    """
    names = list_subcommands_about(usage, input_format.words)
    if names is not None:
        commands = [f"{start_command} {name} {input_format.file}" for name in names]
        return [RunProposal(command, input_file=input_format.file) for command in commands]
    run = RunProposal(f"{start_command} {input_format.file}", input_file=input_format.file)
    return [run, *list_usage_runs(start_command, usage, [run])]
