"""Describes why a build failed, with the end of its log."""

import re

from runner.errors import FaultwatchError
from runner.subject.build import BuildFailure

_UNINFORMATIVE_LINE = re.compile(r"\s*($|note: |hint: |[×│╰])")
"""Lines of a log that give no information: empty lines, and lines with which pip frames an error."""
_BUILD_PATH = re.compile(r"/\S{0,400}?/[0-9a-f]{12}-[0-9a-f]{16}-\d_*/tree\b")
"""The path of a build's tree, which differs between the ways to build."""
_MAX_LOG_LINES, _MAX_LOG_LINE_CHARACTERS = 6, 200
"""How many last lines of a build's log are shown, and how many characters of each."""


def hide_build_path(text: str) -> str:
    """Return a text with ``.`` for the path of a build's tree."""
    return _BUILD_PATH.sub(".", text)


def describe_build_failure(failure: BuildFailure | FaultwatchError) -> str:
    """Return why a build failed, with the end of its log; for an error of this host, with its remedy instead."""
    if isinstance(failure, FaultwatchError):
        return f"{failure.what}" + (f" ({failure.remedy})" if failure.remedy else "")
    log = hide_build_path(failure.build.log)
    lines = [line for line in log.splitlines() if not _UNINFORMATIVE_LINE.match(line)]
    last_lines = [f"    {line[:_MAX_LOG_LINE_CHARACTERS]}" for line in lines[-_MAX_LOG_LINES:]]
    return "\n".join([failure.message, *last_lines])
