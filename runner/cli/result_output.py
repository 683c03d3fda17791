"""Outputs the result of a command: on standard output, for people or as JSON, and in the file of --output."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from runner.cli.github_actions import set_report
from runner.cli.output_files import write_output_file
from runner.commands_in_ci_logs import break_commands_in_json


def output_result(document: object, *, as_json: bool, output_file: Path | None, show: Callable[[], None]) -> None:
    """Print a result, and write it to a file if one is named.

    Parameters
    ----------
    document
        The result, serialisable by ``json``.
    show
        Prints the result for people. Called only if it is not printed as JSON.

    Raises
    ------
    FaultwatchError
        The file cannot be written.
    """
    write_result(document, output_file)
    print_result(document, as_json=as_json, show=show)


def print_result(document: object, *, as_json: bool, show: Callable[[], None]) -> None:
    """Print a result as JSON, or let ``show`` print it for people."""
    if as_json:
        print_json(document)
    else:
        show()


def print_json(document: object) -> None:
    """Print a document as JSON, in which commands for CI systems are broken."""
    click.echo(_format_json(document))


def _format_json(document: object) -> str:
    return break_commands_in_json(json.dumps(document, indent=2))


def write_result(document: object, output_file: Path | None) -> None:
    """Write a result to the file of --output, if any; in GitHub Actions, set its path as a step output."""
    if output_file:
        write_output_file(output_file, _format_json(document) + "\n", "--output")
        set_report(output_file)
