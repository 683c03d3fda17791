"""Gives the result of a command: on standard output for people or as JSON, and in the file of --output."""

import json
from collections.abc import Callable
from pathlib import Path

import click

from runner.cli.github_actions import set_outputs
from runner.cli.output_files import write_output_file


def give_result(document: object, *, as_json: bool, output_file: Path | None, show: Callable[[], None]) -> None:
    """Print a result, and write it to a file if one is named.

    Parameters
    ----------
    document
        The result as ``json`` takes it.
    show
        Prints the result for people; called unless it is printed as JSON.

    Raises
    ------
    FaultwatchError
        The file cannot be written.
    """
    write_result(document, output_file)
    print_result(document, as_json=as_json, show=show)


def print_result(document: object, *, as_json: bool, show: Callable[[], None]) -> None:
    """Print a result as JSON, or for people by ``show``."""
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        show()


def write_result(document: object, output_file: Path | None) -> None:
    """Write a result to the file of --output, if there is one; in GitHub Actions its path becomes an output."""
    if output_file:
        write_output_file(output_file, json.dumps(document, indent=2) + "\n", "--output")
        set_outputs({"report": str(output_file.resolve())})
