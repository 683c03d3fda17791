"""What GitHub Actions reads of a step: its outputs and its summary, in files that variables name."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from runner.errors import FaultwatchError


def set_outputs(outputs: Mapping[str, str]) -> None:
    """Tell the outputs of this step; nothing where no CI asks for them.

    Raises
    ------
    FaultwatchError
        Where a value has more than one line: it could pass for another output.
    """
    for name, value in outputs.items():
        if re.search(r"[\r\n]", value):
            raise FaultwatchError(f"the output {name} has more than one line: {value!r}")
    _append("GITHUB_OUTPUT", "".join(f"{name}={value}\n" for name, value in outputs.items()))


def add_summary(markdown: str) -> None:
    """Add to the summary of this job; nothing where no CI asks for one."""
    _append("GITHUB_STEP_SUMMARY", markdown)


def _append(variable: str, said: str) -> None:
    if file := os.environ.get(variable):
        try:
            with Path(file).open("a", encoding="utf-8") as stream:
                stream.write(said)
        except OSError as error:
            raise FaultwatchError(f"{variable}={file}: {error.strerror}") from None
