"""The outputs and the summary of a GitHub Actions step."""

import os
import re
from pathlib import Path

from runner.errors import FaultwatchError


def set_verdict(verdict: str) -> None:
    """Set the step's output ``verdict``: that of the gate, or ``measured`` or ``failed`` for a push."""
    _set_output("verdict", verdict)


def set_report(file: Path) -> None:
    """Set the step's output ``report``: the absolute path of the file with the result as JSON."""
    _set_output("report", str(file.resolve()))


def set_complete(complete: bool) -> None:
    """Set the step's output ``complete``: whether all cells of a nightly run are measured."""
    _set_output("complete", str(complete).lower())


def _set_output(name: str, value: str) -> None:
    """Set an output of this step; do nothing outside GitHub Actions.

    Raises
    ------
    FaultwatchError
        The value has several lines, which could set another output.
    """
    if re.search(r"[\r\n]", value):
        raise FaultwatchError(f"the output {name} has more than one line: {value!r}")
    _append_text_to_file("GITHUB_OUTPUT", f"{name}={value}\n")


def add_summary(markdown: str) -> None:
    """Append Markdown to the summary of this job; do nothing outside GitHub Actions."""
    _append_text_to_file("GITHUB_STEP_SUMMARY", markdown)


def _append_text_to_file(variable: str, text: str) -> None:
    """Append text to the file that an environment variable names; do nothing if it is not set.

    Raises
    ------
    FaultwatchError
        The file cannot be written.
    """
    if file := os.environ.get(variable):
        try:
            with Path(file).open("a", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as error:
            raise FaultwatchError(
                f"{file}, which {variable} names, cannot be written: {error.strerror}",
                f"unset {variable} outside of GitHub Actions",
            ) from None
