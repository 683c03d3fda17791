"""Writes the files of ``faultwatch gate`` for CI systems."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from runner.cli.options import apply_options
from runner.cli.output_files import write_output_file
from runner.contract.gate import GateAnswer, GateReport

_OPTIONS = {
    "markdown": "Write the text of the pull request comment as Markdown.",
    "junit": "Write the verdict as JUnit XML, with a test for each case.",
    "code-quality": "Write the findings as GitLab's code-quality JSON.",
    "sarif": "Write the findings as SARIF 2.1.0.",
    "report": "Write the measurements for `faultwatch-service comment`, as JSON.",
}


def _make_option(name: str, text: str) -> Any:
    path_type = click.Path(dir_okay=False, path_type=Path)
    return click.option(f"--{name}", name.replace("-", "_"), type=path_type, metavar="FILE", help=text)


output_options = apply_options(*(_make_option(name, text) for name, text in _OPTIONS.items()))
"""Adds an option for each file to a command, with a path or None as the value, such as ``code_quality``."""


def write_outputs(files: Mapping[str, Path | None], report: GateReport, answer: GateAnswer) -> None:
    """Write the requested files, each completely or not at all.

    Parameters
    ----------
    files
        The path of each file, by the name of its option; None if it was not requested.

    Raises
    ------
    FaultwatchError
        A file cannot be written.
    """
    from runner.gate_files.code_quality import format_code_quality
    from runner.gate_files.junit import format_junit
    from runner.gate_files.sarif import format_sarif

    writers = {
        "markdown": lambda: answer.summary,
        "junit": lambda: format_junit(report, answer),
        "code_quality": lambda: format_code_quality(answer),
        "sarif": lambda: format_sarif(report, answer),
        "report": lambda: report.model_dump_json(),  # noqa: PLW0108 - typed
    }
    for name, file in files.items():
        if file is not None:
            write_output_file(file, writers[name](), f"--{name.replace('_', '-')}")
