"""The outputs and the summary of a GitHub Actions step."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from runner.errors import FaultwatchError


def set_outputs(outputs: Mapping[str, str]) -> None:
    """Set the outputs of this step; do nothing outside GitHub Actions.

    Raises
    ------
    FaultwatchError
        A value has several lines, which could set another output.
    """
    for name, value in outputs.items():
        if re.search(r"[\r\n]", value):
            raise FaultwatchError(f"the output {name} has more than one line: {value!r}")
    _append_text_to_file("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))


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
