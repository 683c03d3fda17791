"""The subcommands that a help names are tried with the files that the program alone has refused."""

import re

import pytest

from runner.adoption.proposal import RunProposal
from runner.adoption.subcommands import list_subcommand_runs, list_subcommands, list_subcommands_about

CLAP = """A tool

Usage: x <COMMAND>

Commands:
  publish  Print what is uploaded
  sort     Sort records
  stats    Compute statistics; the names may go on
           count in the next line

Options:
  check  Not a subcommand
"""
KONG = """Usage: x <command>

Flags:
  -h, --help    Show help.

Commands:
  format <file> [flags]
    Format a file.

  serve
    Serve files.

Run "x <command> --help" for more information on a command.
"""
COBRA = "Available Commands:\n  completion  Generate\n  fmt, f      Format\n\nFlags:\n  -h, --help  help\n"
ARGPARSE = "usage: x [-h] {parse,install} ...\n\npositional arguments:\n  {parse,install}\n    parse  Parse a file\n"


@pytest.mark.parametrize(
    ("help_text", "names"),
    [
        (CLAP, ["stats", "sort"]),
        (KONG, ["format"]),
        (COBRA, ["fmt"]),
        (ARGPARSE, ["parse"]),
        ("usage: x [--color {auto,show}] FILE\n  -n  count lines\n  count lines\n", []),
        ("", []),
    ],
)
def test_only_subcommands_that_read_a_file_are_taken_from_a_help(help_text: str, names: list[str]) -> None:
    assert list_subcommands(help_text) == names


ALIGNED = """
Usage:   x <command> [options]

Command: index     index sequences in the FASTA format
         mem       align
                   many reads of FASTA

         fa2pac    convert fasta to PAC
         get       get a FASTA file

Note: index FASTA files first
"""


def test_subcommands_are_found_by_their_descriptions() -> None:
    fasta = re.compile("fasta", re.IGNORECASE)
    assert list_subcommands_about(ALIGNED, fasta) == ["index", "fa2pac"]
    assert list_subcommands_about(CLAP, fasta) == []
    assert list_subcommands_about("usage: x in.fasta\n", fasta) is None
    assert list_subcommands(ALIGNED.replace("mem ", "sort")) == ["sort"]


def test_a_subcommand_gets_the_files_that_the_program_alone_has_refused() -> None:
    refused = [
        RunProposal("bin/x a.csv", input_file="a.csv", program="bin/x"),
        RunProposal("sh -c 'exec bin/x < a.csv'", input_file="a.csv"),
        RunProposal("bin/x . a.csv", input_file="a.csv", is_fallback=True),
    ]
    runs = list_subcommand_runs("bin/x", CLAP, refused)
    assert [run.command for run in runs] == ["bin/x stats a.csv", "bin/x sort a.csv"]
    assert all(run.input_file == "a.csv" and run.program == "bin/x" for run in runs)


def test_a_subcommand_that_is_a_benchmark_needs_no_file() -> None:
    refused = [RunProposal("bin/x LICENSE", stand_in_file="LICENSE")]
    runs = list_subcommand_runs(
        "bin/x", "The commands are:\n\n    bench    run a benchmark\n    get    a value\n", refused
    )
    assert [run.command for run in runs] == ["bin/x bench", "bin/x bench LICENSE"]
    assert runs[0].is_promising
