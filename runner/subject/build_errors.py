"""Finds the first error in the log of a build: the later errors are often only its consequences."""

import re
from itertools import takewhile

_MAX_CHARACTERS = 300
"""The largest number of characters of an error that are shown."""
_ERROR = re.compile(
    r"""^(?!.*\bmake\S{0,40}:\ \*\*\*\ \[)        # make's own line repeats that a command failed
    (?!.*\[(?:ERROR|FATAL)\].*:[\ \t]*$)         # Maven announces what the next lines say
    (?:.*(?:
        \berror(?:\[\w+\])?:\s+\S            # compilers, configure scripts, Cargo, pip
        |\b\w+(?:Error|Exception):\s+\S      # Python, Java and JavaScript
        |\[(?:ERROR|FATAL)\]\s+\S            # Maven
        |\bundefined\ reference\ to\b
        |\bcannot\ find\ -l
        |\*\*\*\ No\ rule\ to\ make\ target\b
        |:\ (?:command\ )?not\ found$
    ).*
    |CMake\ Error\b.*:
    |go:\ (?!downloading\b|finding\b).+
    |\S+\.go:\d+:\d+:\ .+
    |npm\ (?:error|ERR!)\ (?!code\b|errno\b|syscall\b|type\b|A\ complete\ log).+
    )$""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
"""A line in which a tool says what is wrong."""

_CAUSE = re.compile(r"\bended with exit code \d+: (\S.*)")
"""The cause at the end of a failure's message."""


def find_first_error(log: str, message: str = "") -> str:
    """Return the first error of a failed build, as one line; empty if neither the message nor the log names any.

    CMake explains an error in the indented paragraphs below the line that announces it, so these are appended.

    Parameters
    ----------
    message
        The message of the failure. If it ends with a cause, this is returned instead of a line of the log.
    """
    cause = _CAUSE.search(message)
    if cause:
        return cause[1][:_MAX_CHARACTERS]
    match = _ERROR.search(log)
    if match is None:
        return ""
    line = match[0].strip()
    if line.lower().startswith("cmake error"):
        explanation = takewhile(lambda text: not text.strip() or text.startswith(" "), log[match.end() :].splitlines())
        line = " ".join([line, *" ".join(explanation).split()])
    return line[:_MAX_CHARACTERS]
